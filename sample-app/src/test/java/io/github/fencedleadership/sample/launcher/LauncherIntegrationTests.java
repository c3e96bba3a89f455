package io.github.fencedleadership.sample.launcher;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ClusterLauncher} with real processes and signals: whatever ends the
 * launcher, no process and no file is left.
 */
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "There are no signals on Windows")
class LauncherIntegrationTests {

	/**
	 * What a signal to a foreground process looks like: a shell, and the launcher in a
	 * process group of its own.
	 */
	private static final String SHELL = "set -m; \"$0\" \"$@\" & echo \"launcher $!\"; wait";

	private static final int NODES = 2;

	@TempDir
	private Path directory;

	private final List<String> output = new CopyOnWriteArrayList<>();

	private final List<ProcessHandle> processes = new ArrayList<>();

	@AfterEach
	void killWhatIsLeft() {
		this.processes.forEach(ProcessHandle::destroyForcibly);
	}

	@Test
	void endsWithItsProcessGroupOnInterrupt() throws Exception {
		ProcessHandle launcher = launch();
		signal("INT", "-" + launcher.pid());
		assertNothingIsLeft();
		assertNodesClosedWhileTheDatabaseWasUp();
		assertThat(this.output).contains("Stopped.");
	}

	@Test
	void endsOnTerminationWithANodeThatIsFrozen() throws Exception {
		ProcessHandle launcher = launch();
		signal("STOP", nodes(launcher).get(0).pid());
		signal("TERM", launcher.pid());
		assertNothingIsLeft();
		assertNodesClosedWhileTheDatabaseWasUp();
		assertThat(this.output).contains("Stopped.");
	}

	@Test
	void endsWhileItIsStarting() throws Exception {
		long launcher = start(FreePorts.find(NODES));
		await().until(() -> postgres().isPresent());
		signal("INT", "-" + launcher);
		assertNothingIsLeft();
	}

	@Test
	void nodesAndDatabaseEndWhenTheLauncherIsKilled() throws Exception {
		ProcessHandle launcher = launch();
		signal("KILL", launcher.pid());
		assertNothingIsLeft();
		assertNodesClosedWhileTheDatabaseWasUp();
	}

	@Test
	void endsWhenItsParentIsKilled() throws Exception {
		ProcessHandle launcher = launch();
		signal("KILL", launcher.parent().orElseThrow().pid());
		assertNothingIsLeft();
		assertNodesClosedWhileTheDatabaseWasUp();
	}

	@Test
	void endsWhenTheProcessOfTheDatabaseIsKilled() throws Exception {
		ProcessHandle launcher = launch();
		ProcessHandle database = launcher.children()
			.filter((child) -> commandLine(child).contains(PostgresProcess.class.getName()))
			.findFirst()
			.orElseThrow();
		signal("KILL", database.pid());
		assertNothingIsLeft();
		assertThat(this.output).contains("PostgreSQL has ended, and so does the cluster.");
	}

	@Test
	void goesOnUntilTheLastNodeHasEnded() throws Exception {
		ProcessHandle launcher = launch();
		List<ProcessHandle> nodes = nodes(launcher);
		signal("KILL", nodes.get(0).pid());
		await().untilAsserted(() -> assertThat(this.output)
			.anyMatch((line) -> line.matches("node-\\d has ended with exit code 137, nodes left: 1")));
		assertThat(launcher.isAlive()).isTrue();
		signal("TERM", nodes.get(1).pid());
		assertNothingIsLeft();
		assertThat(this.output).contains("No node is left, and so the cluster ends.");
	}

	@Test
	void nodesThatWereKilledOnThePageCanBeStartedThere() throws Exception {
		ProcessHandle launcher = launch();
		List<ProcessHandle> nodes = nodes(launcher);
		act("kill", "node-1");
		act("kill", "node-2");
		assertThat(nodes).noneMatch(ProcessHandle::isAlive);
		act("start", "node-1");
		List<ProcessHandle> started = launcher.children()
			.filter((child) -> commandLine(child).contains(BareNode.class.getName()))
			.toList();
		assertThat(started).hasSize(1);
		this.processes.addAll(started);
		signal("TERM", launcher.pid());
		assertNothingIsLeft();
		assertThat(this.output).contains("Stopped.");
	}

	@Test
	void tellsThatAPortIsInUse() throws Exception {
		try (ServerSocket socket = new ServerSocket(0)) {
			start(List.of(FreePorts.find(1).get(0), socket.getLocalPort()));
			await().untilAsserted(() -> assertThat(this.output)
				.anyMatch((line) -> line.startsWith("Port '" + socket.getLocalPort() + "' is in use: stop what")));
			assertNothingIsLeft();
		}
	}

	/**
	 * Press a button of the page.
	 */
	private void act(String action, String target) throws Exception {
		String prefix = "The page is at ";
		String page = this.output.stream()
			.filter((line) -> line.startsWith(prefix))
			.map((line) -> line.substring(prefix.length()))
			.findFirst()
			.orElseThrow();
		HttpClient client = HttpClient.newHttpClient();
		String html = client.send(HttpRequest.newBuilder(URI.create(page)).build(), BodyHandlers.ofString()).body();
		Matcher token = Pattern.compile("name=\"token\" value=\"([^\"]+)\"").matcher(html);
		assertThat(token.find()).isTrue();
		HttpRequest request = HttpRequest.newBuilder(URI.create(page + "act"))
			.header("Origin", page.substring(0, page.length() - 1))
			.POST(BodyPublishers.ofString("token=%s&action=%s&target=%s".formatted(token.group(1), action, target)))
			.build();
		assertThat(client.send(request, BodyHandlers.discarding()).statusCode()).isEqualTo(303);
	}

	/**
	 * Start the launcher and wait until it has told that the cluster is up.
	 */
	private ProcessHandle launch() throws IOException {
		ProcessHandle launcher = ProcessHandle.of(start(FreePorts.find(NODES))).orElseThrow();
		await().untilAsserted(() -> assertThat(this.output).anyMatch((line) -> line.startsWith("The cluster is up.")));
		launcher.descendants().forEach(this.processes::add);
		this.processes.add(postgres().orElseThrow());
		// The nodes, the process of the database, its server, the launcher and its shell.
		assertThat(this.processes).hasSizeGreaterThanOrEqualTo(NODES + 4).allMatch(ProcessHandle::isAlive);
		return launcher;
	}

	private long start(List<Integer> ports) throws IOException {
		List<String> command = List.of("bash", "-c", SHELL,
				Path.of(System.getProperty("java.home"), "bin/java").toString(), "-Djava.io.tmpdir=" + this.directory,
				BareLauncher.class.getName(),
				"--ports=" + ports.stream().map(String::valueOf).collect(Collectors.joining(",")), "--page-port=0",
				"--report=" + this.directory);
		ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
		builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
		Process shell = builder.start();
		this.processes.add(shell.toHandle());
		Thread pump = new Thread(() -> pump(shell), "launcher-output");
		pump.setDaemon(true);
		pump.start();
		String prefix = "launcher ";
		await().until(() -> this.output.stream().anyMatch((line) -> line.startsWith(prefix)));
		long pid = this.output.stream()
			.filter((line) -> line.startsWith(prefix))
			.map((line) -> Long.valueOf(line.substring(prefix.length())))
			.findFirst()
			.orElseThrow();
		// The launcher may have ended already, if it was to refuse its arguments.
		ProcessHandle.of(pid).ifPresent(this.processes::add);
		return pid;
	}

	private void pump(Process process) {
		try (BufferedReader reader = process.inputReader(StandardCharsets.UTF_8)) {
			reader.lines().forEach((line) -> {
				System.out.println(line);
				this.output.add(line);
			});
		}
		catch (IOException | RuntimeException ex) {
			// The process has ended.
		}
	}

	private static List<ProcessHandle> nodes(ProcessHandle launcher) {
		List<ProcessHandle> nodes = launcher.children()
			.filter((child) -> commandLine(child).contains(BareNode.class.getName()))
			.toList();
		assertThat(nodes).hasSize(NODES);
		return nodes;
	}

	private static String commandLine(ProcessHandle process) {
		return process.info().commandLine().orElse("");
	}

	private Optional<ProcessHandle> postgres() {
		return dataDirectories().stream()
			.map((path) -> new PostgresDirectory(path).server())
			.flatMap(Optional::stream)
			.findFirst();
	}

	private List<Path> dataDirectories() {
		try (Stream<Path> paths = Files.list(this.directory)) {
			return paths.filter((path) -> path.getFileName().toString().contains("postgres")).toList();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private void assertNothingIsLeft() {
		await().untilAsserted(() -> assertThat(this.processes).noneMatch(ProcessHandle::isAlive));
		await().untilAsserted(() -> assertThat(dataDirectories()).isEmpty());
	}

	private void assertNodesClosedWhileTheDatabaseWasUp() throws IOException {
		for (int i = 1; i <= NODES; i++) {
			assertThat(new File(this.directory.toFile(), "node-" + i)).content()
				.isEqualTo(BareNode.CLOSED_WITH_DATABASE);
		}
	}

	private static void signal(String signal, long pid) throws Exception {
		signal(signal, Long.toString(pid));
	}

	private static void signal(String signal, String target) throws Exception {
		assertThat(new ProcessBuilder("kill", "-" + signal, "--", target).inheritIO().start().waitFor()).isZero();
	}

	private static ConditionFactory await() {
		return Awaitility.await().atMost(Duration.ofSeconds(90)).pollInterval(Duration.ofMillis(100));
	}

}
