package io.github.fencedleadership.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The tests that the documentation names are there.
 */
class VerificationTableTests {

	private static final Pattern NAME = Pattern.compile("`(\\w+(?:Tests|Contract))(?:\\.(\\w+))?`");

	@Test
	void everyTestThatIsNamedIsThere() throws IOException {
		Matcher names = NAME.matcher(Files.readString(Path.of("..", "docs", "verification.md")));
		int count = 0;
		while (names.find()) {
			count++;
			String source = Files.readString(find(names.group(1)));
			if (names.group(2) != null) {
				assertThat(source).as(names.group(1)).contains("void " + names.group(2) + "(");
			}
		}
		assertThat(count).isGreaterThan(50);
	}

	private static Path find(String name) throws IOException {
		try (Stream<Path> files = Files.walk(Path.of(".."))) {
			List<Path> found = files.filter((file) -> file.getFileName().toString().equals(name + ".java")).toList();
			assertThat(found).as(name).hasSize(1);
			return found.get(0);
		}
	}

}
