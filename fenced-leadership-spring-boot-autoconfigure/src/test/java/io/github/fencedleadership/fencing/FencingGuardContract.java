package io.github.fencedleadership.fencing;

import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * What every {@link FencingGuard} does. Extend it to test one of your own.
 */
public abstract class FencingGuardContract {

	/**
	 * Return a guard that sees no leases and has no marks.
	 * @return the guard
	 */
	protected abstract FencingGuard guard();

	/**
	 * Return a guard that sees leases, of which there are none yet, and has no marks.
	 * @return the guard
	 */
	protected abstract FencingGuard guardThatSeesLeases();

	/**
	 * Begin the next term of a role, seen by {@link #guardThatSeesLeases()}.
	 * @param role the role
	 * @return its token
	 */
	protected abstract FencingToken elect(String role);

	/**
	 * Check in a transaction that commits, where the guard knows transactions.
	 * @param guard the guard
	 * @param resource the resource
	 * @param token the token
	 */
	protected void check(FencingGuard guard, String resource, FencingToken token) {
		guard.check(resource, token);
	}

	@Test
	void acceptsATokenAgainAndAgain() {
		FencingGuard guard = guard();
		assertThatNoException().isThrownBy(() -> {
			check(guard, "ledger", new FencingToken("reports", 3));
			check(guard, "ledger", new FencingToken("reports", 3));
		});
	}

	@Test
	void refusesALowerTokenAndSaysWhatItKnows() {
		FencingGuard guard = guard();
		check(guard, "ledger", new FencingToken("reports", 3));
		check(guard, "ledger", new FencingToken("reports", 7));
		FencingToken stale = new FencingToken("reports", 3);
		assertThatExceptionOfType(StaleFencingTokenException.class).isThrownBy(() -> check(guard, "ledger", stale))
			.satisfies((ex) -> {
				assertThat(ex.getResource()).isEqualTo("ledger");
				assertThat(ex.getRole()).isEqualTo("reports");
				assertThat(ex.getFencingToken()).isEqualTo(stale);
				assertThat(ex.getNewerToken()).isEqualTo(7);
				assertThat(ex).hasMessageContaining("'ledger'").hasMessageContaining("'3'").hasMessageContaining("'7'");
			});
	}

	@Test
	void keepsResourcesApart() {
		FencingGuard guard = guard();
		check(guard, "ledger", new FencingToken("reports", 7));
		assertThatNoException().isThrownBy(() -> check(guard, "invoices", new FencingToken("reports", 3)));
	}

	@Test
	void keepsRolesApart() {
		FencingGuard guard = guard();
		check(guard, "ledger", new FencingToken("reports", 7));
		assertThatNoException().isThrownBy(() -> check(guard, "ledger", new FencingToken("cleanup", 3)));
	}

	@Test
	void keepsNamespacesApart() {
		FencingGuard guard = guard();
		check(guard, "ledger", new FencingToken("reports", 7));
		FencingToken foreign = new FencingToken("orders", "reports", 3);
		assertThatNoException().isThrownBy(() -> check(guard, "ledger", foreign));
		check(guard, "ledger", new FencingToken("orders", "reports", 4));
		assertThatExceptionOfType(StaleFencingTokenException.class).isThrownBy(() -> check(guard, "ledger", foreign));
	}

	@Test
	void knowsAThousandResources() {
		FencingGuard guard = guard();
		IntStream.range(0, 1000).forEach((i) -> check(guard, "resource-" + i, new FencingToken("reports", 2)));
		assertThatExceptionOfType(StaleFencingTokenException.class)
			.isThrownBy(() -> check(guard, "resource-999", new FencingToken("reports", 1)));
	}

	@Test
	void takesNamesOfAnyCharactersUpToALimit() {
		FencingGuard guard = guard();
		assertThatNoException().isThrownBy(() -> {
			check(guard, "Stra\u00dfe 'x' \"y\" %_\\ \u2603", new FencingToken("reports", 1));
			check(guard, "x".repeat(FencingGuard.MAX_RESOURCE_LENGTH), new FencingToken("reports", 1));
		});
		assertThatIllegalArgumentException().isThrownBy(
				() -> check(guard, "x".repeat(FencingGuard.MAX_RESOURCE_LENGTH + 1), new FencingToken("reports", 1)))
			.withMessageContaining("1 to 200");
		assertThatIllegalArgumentException().isThrownBy(() -> check(guard, "", new FencingToken("reports", 1)));
		assertThatIllegalArgumentException().isThrownBy(() -> check(guard, "a\nb", new FencingToken("reports", 1)))
			.withMessageContaining("'a?b'");
	}

	@Test
	void aPreparedCheckIsAccepted() {
		FencingGuard guard = guard();
		FencingToken token = new FencingToken("reports", 2);
		guard.prepare("ledger", token);
		assertThatNoException().isThrownBy(() -> check(guard, "ledger", token));
	}

	@Test
	void refusesAStaleWriterFromTheMomentItsSuccessorIsElected() {
		FencingGuard guard = guardThatSeesLeases();
		FencingToken first = elect("reports");
		check(guard, "ledger", first);
		FencingToken second = elect("reports");
		assertThat(second.value()).isGreaterThan(first.value());
		assertThatExceptionOfType(StaleFencingTokenException.class).isThrownBy(() -> check(guard, "ledger", first))
			.satisfies((ex) -> assertThat(ex.getNewerToken()).isEqualTo(second.value()));
		assertThatExceptionOfType(StaleFencingTokenException.class).isThrownBy(() -> check(guard, "invoices", first));
		assertThatNoException().isThrownBy(() -> check(guard, "ledger", second));
	}

	@Test
	void refusesATokenThatNoTermHasWithoutShuttingOutTheTermsToCome() {
		FencingGuard guard = guardThatSeesLeases();
		FencingToken first = elect("reports");
		FencingToken bogus = new FencingToken("reports", 1_000_000);
		assertThatExceptionOfType(UnknownFencingTokenException.class).isThrownBy(() -> check(guard, "ledger", bogus))
			.withMessageContaining("'1000000'");
		assertThatNoException().isThrownBy(() -> check(guard, "ledger", first));
		FencingToken second = elect("reports");
		assertThatNoException().isThrownBy(() -> check(guard, "ledger", second));
	}

	@Test
	void aTokenIsAtLeastOne() {
		assertThatIllegalArgumentException().isThrownBy(() -> new FencingToken("reports", 0));
		assertThatIllegalArgumentException().isThrownBy(() -> new FencingToken("reports", -1));
	}

}
