package io.github.fencedleadership.sample.launcher;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link LauncherOptions}.
 */
class LauncherOptionsTests {

	@Test
	void startsThreeNodesByDefault() {
		LauncherOptions options = LauncherOptions.parse();
		assertThat(options.ports()).containsExactly(8081, 8082, 8083);
		assertThat(options.nodeArguments()).isEmpty();
	}

	@Test
	void startsOneNodePerPort() {
		assertThat(LauncherOptions.parse("--ports=9081, 9082").ports()).containsExactly(9081, 9082);
	}

	@Test
	void passesOtherArgumentsOnToTheNodes() {
		LauncherOptions options = LauncherOptions.parse("--fenced-leadership.lease-ttl=3s", "--ports=9081", "--debug");
		assertThat(options.nodeArguments()).containsExactly("--fenced-leadership.lease-ttl=3s", "--debug");
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "http", "8081,", "0", "65536", "-1" })
	void refusesWhatIsNoPort(String ports) {
		assertThatIllegalArgumentException().isThrownBy(() -> LauncherOptions.parse("--ports=" + ports))
			.withMessageContaining("of '--ports=" + ports + "' is not a number from 1 to 65535");
	}

	@Test
	void refusesTheSamePortTwice() {
		assertThatIllegalArgumentException().isThrownBy(() -> LauncherOptions.parse("--ports=8081,8082,8081"))
			.withMessage("Ports '8081,8082,8081' name a port twice: give every node its own");
	}

	@Test
	void takesAPortForThePage() {
		assertThat(LauncherOptions.parse().pagePort()).isEmpty();
		assertThat(LauncherOptions.parse("--page-port=9080").pagePort()).hasValue(9080);
		assertThat(LauncherOptions.parse("--page-port=0").pagePort()).hasValue(0);
		assertThat(LauncherOptions.parse("--page-port=9080").nodeArguments()).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "http", "65536", "-1", "9080,9081" })
	void refusesWhatIsNoPortForThePage(String port) {
		assertThatIllegalArgumentException().isThrownBy(() -> LauncherOptions.parse("--page-port=" + port))
			.withMessageContaining("of '--page-port=" + port + "' is not a number from 0 to 65535");
	}

	@Test
	void refusesThePortOfANodeForThePage() {
		assertThatIllegalArgumentException().isThrownBy(() -> LauncherOptions.parse("--page-port=8082"))
			.withMessage("Port '8082' is that of a node too: give the page its own");
	}

}
