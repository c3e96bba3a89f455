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

}
