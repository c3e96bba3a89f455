package io.github.fencedleadership.web;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import io.github.fencedleadership.fencing.FencingToken;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link FencingTokenHeader}.
 */
class FencingTokenHeaderTests {

	@Test
	void ownTokenCarriesTheOwnNamespace() {
		assertThat(FencingTokenHeader.format(new FencingToken("reports", 42), "orders"))
			.isEqualTo("ns=\"orders\", role=\"reports\", token=42");
	}

	@Test
	void tokenOfACallerKeepsTheNamespaceOfTheCaller() {
		assertThat(FencingTokenHeader.format(new FencingToken("orders", "reports", 42), "ledger"))
			.isEqualTo("ns=\"orders\", role=\"reports\", token=42");
	}

	@Test
	void whatIsWrittenIsReadBySomebodyElseAsATokenOfTheCaller() {
		FencingToken token = new FencingToken("re.ports:_-9", FencingTokenHeader.MAX_TOKEN);
		String value = FencingTokenHeader.format(token, "orders");
		assertThat(FencingTokenHeader.parse(value, "ledger"))
			.isEqualTo(new FencingToken("orders", "re.ports:_-9", FencingTokenHeader.MAX_TOKEN));
	}

	@Test
	void whatIsWrittenIsReadInTheSameNamespaceAsAnOwnToken() {
		String value = FencingTokenHeader.format(new FencingToken("reports", 42), "orders");
		assertThat(FencingTokenHeader.parse(value, "orders")).isEqualTo(new FencingToken("reports", 42));
	}

	@Test
	void longestTokenThereCanBeIsRead() {
		String name = "n".repeat(100);
		FencingToken token = new FencingToken(name, "r".repeat(100), FencingTokenHeader.MAX_TOKEN);
		assertThat(FencingTokenHeader.parse(FencingTokenHeader.format(token, "orders"), "ledger")).isEqualTo(token);
	}

	@Test
	void tokenThatIsTooHighForTheFormatIsNotSent() {
		assertThatIllegalArgumentException()
			.isThrownBy(() -> FencingTokenHeader.format(new FencingToken("reports", 1_000_000_000_000_000L), "orders"))
			.withMessageContaining("'reports#1000000000000000' is too high to be sent");
	}

	@Test
	void nameThatWouldHaveToBeEscapedIsNotSent() {
		assertThatIllegalArgumentException()
			.isThrownBy(() -> FencingTokenHeader.format(new FencingToken("rep\"orts", 1), "orders"))
			.withMessageContaining("Role 'rep\"orts' cannot be sent");
	}

	@ParameterizedTest
	@ValueSource(strings = { "token=42,role=\"reports\",ns=\"orders\"", "  ns=\"orders\", role=\"reports\", token=42 ",
			"ns=\"orders\"\t,\trole=\"reports\" , token=42", "ns=\"orders\", role=\"reports\", token=000000000000042" })
	void orderAndWhiteSpaceAreFree(String value) {
		assertThat(FencingTokenHeader.parse(value, "ledger")).isEqualTo(new FencingToken("orders", "reports", 42));
	}

	@ParameterizedTest
	@ValueSource(strings = { "", " ", "42", "ns", "ns=", "ns=\"orders\"", "ns=\"orders\", role=\"reports\"",
			"role=\"reports\", token=42", "ns=\"orders\", token=42", "ns=\"orders\", role=\"reports\", token=0",
			"ns=\"orders\", role=\"reports\", token=-1", "ns=\"orders\", role=\"reports\", token=+1",
			"ns=\"orders\", role=\"reports\", token=4.2", "ns=\"orders\", role=\"reports\", token=\"42\"",
			"ns=\"orders\", role=\"reports\", token=9223372036854775808",
			"ns=\"orders\", role=\"reports\", token=1000000000000000", "ns=orders, role=\"reports\", token=42",
			"ns=1, role=\"reports\", token=42", "ns=\"\", role=\"reports\", token=42",
			"ns=\"or ders\", role=\"reports\", token=42", "ns=\"orders\", role=\"reports\\\"\", token=42",
			"ns=\"orders\", role=\"r\u00e9ports\", token=42", "ns=\"orders\", role=\"reports\", token=\u0664\u0662",
			"ns=\"orders\", role=\"reports\", token=42,", "ns=\"orders\", role=\"reports\", token=42, ",
			",ns=\"orders\", role=\"reports\", token=42", "ns=\"orders\", role=\"reports\", token=42;x",
			"ns=\"orders\", role=\"reports\", token=42, token=43",
			"ns=\"orders\", ns=\"billing\", role=\"reports\", token=42",
			"ns=\"orders\", role=\"reports\", token=42, more=1", "NS=\"orders\", role=\"reports\", token=42",
			"ns=\"orders\" role=\"reports\" token=42", "ns =\"orders\", role=\"reports\", token=42",
			"ns=\"orders\", role=\"reports\", token=42\n", "ns=\"orders\", role=\"reports\", token=42\r\nX: y",
			"ns=\"orders\", role=\"reports\", token=42 43", "ns=\"orders\", role=\"rep\u0000orts\", token=42" })
	void anythingElseIsRefusedWithoutRepeatingIt(String value) {
		assertThatExceptionOfType(InvalidFencingTokenHeaderException.class)
			.isThrownBy(() -> FencingTokenHeader.parse(value, "ledger"))
			.satisfies((ex) -> assertThat(ex.getMessage()).matches("The 'Fencing-Token' header [a-z0-9', ]+"));
	}

	@Test
	void lengthIsBounded() {
		String value = "ns=\"orders\", role=\"reports\", token=42";
		String padded = value + " ".repeat(FencingTokenHeader.MAX_LENGTH - value.length());
		assertThat(FencingTokenHeader.parse(padded, "ledger").value()).isEqualTo(42);
		assertThatExceptionOfType(InvalidFencingTokenHeaderException.class)
			.isThrownBy(() -> FencingTokenHeader.parse(padded + " ", "ledger"))
			.withMessageContaining("is longer than");
		assertThatExceptionOfType(InvalidFencingTokenHeaderException.class)
			.isThrownBy(() -> FencingTokenHeader.parse("a".repeat(1_000_000), "ledger"))
			.withMessageContaining("is longer than");
	}

}
