package io.github.fencedleadership.fencing;

import java.util.OptionalLong;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests of tokens of other namespaces.
 */
class NamespacedFencingTokenTests {

	private final FencingToken own = new FencingToken("reports", 5);

	private final FencingToken ofOrders = new FencingToken("orders", "reports", 3);

	@Test
	void tokenOfAnotherNamespaceIsAnotherToken() {
		assertThat(this.own).isNotEqualTo(new FencingToken("orders", "reports", 5));
		assertThat(this.own.namespace()).isNull();
		assertThat(this.own).hasToString("reports#5");
		assertThat(this.ofOrders).hasToString("orders/reports#3");
		assertThat(this.ofOrders.role()).isEqualTo("reports");
		assertThat(this.ofOrders.qualifiedRole()).isEqualTo("orders/reports");
	}

	@Test
	void currentTokenIsFoundByItsQualifiedRoleOnly() {
		try (FencingContext.Scope outer = new TestTerm(this.own).enter();
				FencingContext.Scope inner = new TestTerm(this.ofOrders).enter()) {
			assertThat(FencingToken.current()).contains(this.ofOrders);
			assertThat(FencingToken.current("reports")).contains(this.own);
			assertThat(FencingToken.current("orders/reports")).contains(this.ofOrders);
			assertThat(FencingToken.current("billing/reports")).isEmpty();
		}
	}

	@Test
	void marksOfDifferentNamespacesDoNotFenceEachOther() {
		InMemoryFencingGuard guard = new InMemoryFencingGuard();
		guard.check("ledger", this.own);
		guard.check("ledger", this.ofOrders);
		assertThat(guard.highestAccepted("ledger", "reports")).isEqualTo(this.own);
		assertThat(guard.highestAccepted("ledger", "orders/reports")).isEqualTo(this.ofOrders);
		guard.check("ledger", new FencingToken("orders", "reports", 4));
		assertThatExceptionOfType(StaleFencingTokenException.class)
			.isThrownBy(() -> guard.check("ledger", this.ofOrders))
			.withMessageContaining("of role 'orders/reports'")
			.satisfies((ex) -> assertThat(ex.getFencingToken()).isEqualTo(this.ofOrders));
	}

	@Test
	void leasesOfTheApplicationSayNothingAboutTokensOfOtherNamespaces() {
		InMemoryFencingGuard guard = new InMemoryFencingGuard((role) -> OptionalLong.of(5));
		guard.check("ledger", this.own);
		guard.check("ledger", this.ofOrders);
		assertThatExceptionOfType(StaleFencingTokenException.class)
			.isThrownBy(() -> guard.check("ledger", new FencingToken("reports", 4)));
	}

}
