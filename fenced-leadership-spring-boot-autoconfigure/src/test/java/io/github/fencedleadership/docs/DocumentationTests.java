package io.github.fencedleadership.docs;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import javax.xml.parsers.DocumentBuilderFactory;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.w3c.dom.Document;
import org.xml.sax.InputSource;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Everything in the documentation that can be compiled, parsed or followed, is.
 */
class DocumentationTests {

	private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

	private static final Pattern BLOCK = Pattern.compile("^( *)```(\\w*)\\n(.*?)^ *```$",
			Pattern.MULTILINE | Pattern.DOTALL);

	private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");

	private static final Pattern HEADING = Pattern.compile("^#+ (.*)$", Pattern.MULTILINE);

	private static final Pattern TYPE = Pattern
		.compile("^(?:public |final |abstract )*(?:class|interface|record|enum|@interface) (\\w+)", Pattern.MULTILINE);

	private static final Pattern MEMBER = Pattern.compile("^(?:@\\w|[\\w.<>\\[\\], ]+ \\w+\\([^;]*\\{)",
			Pattern.MULTILINE);

	private static final Pattern TEST_OPTION = Pattern.compile("-Dtest=([\\w,]+)");

	private static final Pattern MODULE_OPTION = Pattern.compile("-pl ([\\w,-]+)");

	/**
	 * Of modules that are not on the class path, since they would configure something.
	 */
	private static final List<String> FOREIGN_PROPERTIES = List.of("spring.flyway.");

	private static final Set<String> UNCHECKED = Set.of("text", "http", "promql");

	private static final String IMPORTS = Stream
		.of("java.io.*", "java.lang.annotation.*", "java.time.*", "java.util.*", "java.util.concurrent.*",
				"javax.sql.DataSource", "io.github.fencedleadership.annotation.*",
				"io.github.fencedleadership.docs.ExampleContext.*", "io.github.fencedleadership.election.*",
				"io.github.fencedleadership.fencing.*", "io.github.fencedleadership.jdbc.*",
				"io.github.fencedleadership.lease.*", "io.github.fencedleadership.membership.*",
				"org.junit.jupiter.api.*", "org.springframework.beans.factory.annotation.*",
				"org.springframework.boot.test.context.*", "org.springframework.context.annotation.*",
				"org.springframework.context.event.EventListener", "org.springframework.jdbc.core.simple.JdbcClient",
				"org.springframework.scheduling.annotation.*", "org.springframework.stereotype.*",
				"org.springframework.transaction.annotation.Transactional", "org.springframework.transaction.support.*")
		.map("import %s;\n"::formatted)
		.collect(Collectors.joining());

	static Stream<Path> documents() throws IOException {
		try (Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
			List<Path> documents = docs.filter((path) -> path.toString().endsWith(".md")).sorted().toList();
			return Stream.concat(Stream.of("README.md", "CONTRIBUTING.md", "sample-app/README.md").map(ROOT::resolve),
					documents.stream());
		}
	}

	static Stream<Block> blocks() throws IOException {
		List<Block> blocks = new ArrayList<>();
		for (Path document : documents().toList()) {
			Matcher matcher = BLOCK.matcher(Files.readString(document));
			while (matcher.find()) {
				blocks.add(new Block(ROOT.relativize(document).toString(), blocks.size(), matcher.group(2),
						matcher.group(3).replaceAll("(?m)^" + matcher.group(1), "")));
			}
		}
		return blocks.stream();
	}

	@ParameterizedTest
	@MethodSource("blocks")
	void everyBlockIsWhatItSays(Block block, @TempDir Path directory) throws Exception {
		switch (block.language()) {
			case "java" -> compile(block, directory);
			case "yaml" -> checkYaml(block);
			case "xml" -> checkXml(block);
			case "json" -> assertThat(JsonMapper.shared().readTree(block.text())).isNotNull();
			case "sql" -> checkSql(block);
			case "shell" -> checkShell(block);
			default -> assertThat(UNCHECKED).as("language of " + block).contains(block.language());
		}
	}

	@ParameterizedTest
	@MethodSource("documents")
	void everyLinkLeadsSomewhere(Path document) throws IOException {
		String text = BLOCK.matcher(Files.readString(document)).replaceAll("");
		Matcher matcher = LINK.matcher(text);
		while (matcher.find()) {
			String link = matcher.group(1);
			if (link.startsWith("https://")) {
				assertThat(URI.create(link).getHost()).isNotEmpty();
				continue;
			}
			String[] parts = link.split("#", 2);
			Path target = parts[0].isEmpty() ? document : document.resolveSibling(parts[0]).normalize();
			assertThat(target).as("target of '%s'", link).exists();
			if (parts.length == 2) {
				assertThat(anchors(target)).as("anchors of '%s'", target).contains(parts[1]);
			}
		}
	}

	@Test
	void thereIsSomethingToCheck() throws IOException {
		assertThat(blocks().map(Block::language)).contains("java", "yaml", "xml", "json", "sql", "shell");
	}

	private static Set<String> anchors(Path document) throws IOException {
		String text = BLOCK.matcher(Files.readString(document)).replaceAll("");
		return HEADING.matcher(text)
			.results()
			.map((heading) -> heading.group(1).toLowerCase(Locale.ROOT).replaceAll("[^\\w\\- ]", "").replace(' ', '-'))
			.collect(Collectors.toSet());
	}

	// Java

	private static void compile(Block block, Path directory) throws IOException {
		String name = "Example" + block.index();
		String text = block.text();
		Matcher type = TYPE.matcher(text);
		String source;
		if (type.find()) {
			source = text.contains("import ") ? text : IMPORTS + text;
			name = type.group(1);
		}
		else if (MEMBER.matcher(text).lookingAt()) {
			source = IMPORTS + "abstract class " + name + " extends io.github.fencedleadership.docs.ExampleContext {\n"
					+ text + "}\n";
		}
		else {
			source = IMPORTS + "abstract class " + name + " extends io.github.fencedleadership.docs.ExampleContext {\n"
					+ "void example() throws Exception {\n" + text + "}\n}\n";
		}
		JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
		DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
		try (StandardJavaFileManager files = compiler.getStandardFileManager(diagnostics, null,
				StandardCharsets.UTF_8)) {
			String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
			compiler
				.getTask(null, files, diagnostics,
						List.of("-proc:none", "-parameters", "-cp", classPath, "-d", directory.toString()), null,
						List.of(new Source(name, source)))
				.call();
		}
		assertThat(diagnostics.getDiagnostics().stream().filter((it) -> it.getKind() == Diagnostic.Kind.ERROR))
			.as(block + ":\n" + source)
			.isEmpty();
	}

	// Configuration

	private static void checkYaml(Block block) throws IOException {
		Yaml yaml = new Yaml(new SafeConstructor(new LoaderOptions()));
		for (Object document : yaml.loadAll(block.text())) {
			Map<?, ?> map = (Map<?, ?>) document;
			if (map.containsKey("spring") || map.containsKey("management") || map.containsKey("fenced-leadership")) {
				List<String> keys = new ArrayList<>();
				collectKeys("", map, keys);
				Set<String> known = knownProperties();
				assertThat(keys).as(block.toString()).allMatch((key) -> isKnown(key, known));
			}
		}
	}

	private static void collectKeys(String prefix, Map<?, ?> map, List<String> keys) {
		map.forEach((key, value) -> {
			if (value instanceof Map<?, ?> nested) {
				collectKeys(prefix + key + ".", nested, keys);
			}
			else {
				keys.add(prefix + key);
			}
		});
	}

	private static boolean isKnown(String key, Set<String> known) {
		if (known.contains(key) || FOREIGN_PROPERTIES.stream().anyMatch(key::startsWith)) {
			return true;
		}
		Matcher ofRole = Pattern.compile("fenced-leadership\\.roles\\.[^.]+\\.(.*)").matcher(key);
		if (ofRole.matches()) {
			return known.contains("fenced-leadership." + ofRole.group(1));
		}
		return known.stream().anyMatch((it) -> key.startsWith(it + "."));
	}

	private static Set<String> knownProperties() throws IOException {
		Set<String> known = new LinkedHashSet<>();
		ClassLoader loader = DocumentationTests.class.getClassLoader();
		for (URL url : Collections.list(loader.getResources("META-INF/spring-configuration-metadata.json"))) {
			try (InputStream stream = url.openStream()) {
				for (JsonNode property : JsonMapper.shared().readTree(stream).get("properties")) {
					known.add(property.get("name").asString());
				}
			}
		}
		return known;
	}

	// Everything else

	private static void checkXml(Block block) throws Exception {
		Document document = DocumentBuilderFactory.newInstance()
			.newDocumentBuilder()
			.parse(new InputSource(new StringReader("<example>" + block.text() + "</example>")));
		for (int i = 0; i < document.getElementsByTagName("artifactId").getLength(); i++) {
			String artifactId = document.getElementsByTagName("artifactId").item(i).getTextContent();
			if (artifactId.startsWith("fenced-leadership-")) {
				assertThat(ROOT.resolve(artifactId).resolve("pom.xml")).exists();
			}
		}
	}

	private static void checkSql(Block block) throws SQLException {
		try (var connection = DriverManager.getConnection("jdbc:h2:mem:docs" + block.index());
				var statement = connection.createStatement()) {
			statement.execute("RUNSCRIPT FROM 'classpath:io/github/fencedleadership/jdbc/schema-h2.sql'");
			statement.execute("RUNSCRIPT FROM 'classpath:io/github/fencedleadership/jdbc/schema-fencing-h2.sql'");
			statement.execute("CREATE TABLE report (id BIGINT PRIMARY KEY, body TEXT, fencing_token BIGINT)");
			for (String sql : block.text().split(";\\s*\\n", -1)) {
				// What is granted is tried by LeastPrivilegeTests.
				if (!sql.isBlank() && !sql.startsWith("GRANT ")) {
					connection.prepareStatement(sql).close();
				}
			}
		}
	}

	private static void checkShell(Block block) throws IOException {
		String joined = block.text().replaceAll("\\\\\\n\\s*", "");
		for (String line : joined.lines().filter((it) -> !it.isBlank()).toList()) {
			Matcher modules = MODULE_OPTION.matcher(line);
			while (modules.find()) {
				assertThat(List.of(modules.group(1).split(",", -1))).as(line)
					.allSatisfy((module) -> assertThat(ROOT.resolve(module)).exists());
			}
			Matcher tests = TEST_OPTION.matcher(line);
			while (tests.find()) {
				for (String test : tests.group(1).split(",", -1)) {
					assertThat(isTest(test)).as("test class '%s' in '%s'", test, line).isTrue();
				}
			}
		}
	}

	private static boolean isTest(String name) throws IOException {
		try (Stream<Path> files = Files.walk(ROOT, 20)) {
			return files.anyMatch((path) -> path.getFileName().toString().equals(name + ".java"));
		}
	}

	private record Block(String document, int index, String language, String text) {

		@Override
		public String toString() {
			return "%s, block %d (%s)".formatted(this.document, this.index, this.language);
		}

	}

	private static final class Source extends SimpleJavaFileObject {

		private final String text;

		Source(String name, String text) {
			super(URI.create("string:///" + name + Kind.SOURCE.extension), Kind.SOURCE);
			this.text = text;
		}

		@Override
		public CharSequence getCharContent(boolean ignoreEncodingErrors) {
			return this.text;
		}

	}

}
