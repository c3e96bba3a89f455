package io.github.fencedleadership.lease;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;

import org.junit.jupiter.api.Test;

import io.github.fencedleadership.lease.LeaseResult.Outcome;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeaseHistory}: a checker that finds nothing proves nothing.
 */
class LeaseHistoryTests {

	private final LeaseHistory history = new LeaseHistory();

	@Test
	void acceptsTermsOneAfterTheOther() {
		this.history.record(1, 2, result("a", Outcome.GRANTED, 1, 30));
		this.history.record(3, 4, result("a", Outcome.RENEWED, 1, 40));
		this.history.record(5, 6, result("b", Outcome.GRANTED, 2, 80));
		assertThat(this.history.check(began(Map.of(1L, at(0), 2L, at(40))))).isEmpty();
		assertThat(this.history.grants()).isEqualTo(2);
	}

	@Test
	void acceptsTermThatBeganAfterRelease() {
		this.history.record(1, 2, result("a", Outcome.GRANTED, 1, 30));
		this.history.recordRelease("role", 1);
		this.history.record(3, 4, result("b", Outcome.GRANTED, 2, 40));
		assertThat(this.history.check(began(Map.of(1L, at(0), 2L, at(10))))).isEmpty();
	}

	@Test
	void findsTokenThatWasGrantedTwice() {
		this.history.record(1, 2, result("a", Outcome.GRANTED, 1, 30));
		this.history.record(3, 4, result("a", Outcome.GRANTED, 1, 60));
		assertThat(this.history.check(Map.of())).singleElement().asString().startsWith("G1");
	}

	@Test
	void findsTokenWithTwoOwners() {
		this.history.record(1, 2, result("a", Outcome.GRANTED, 1, 30));
		this.history.record(3, 4, result("b", Outcome.RENEWED, 1, 60));
		assertThat(this.history.check(Map.of())).singleElement().asString().startsWith("G2");
	}

	@Test
	void findsTokenThatWentBack() {
		this.history.record(1, 2, result("a", Outcome.GRANTED, 2, 30));
		this.history.record(3, 4, result("b", Outcome.GRANTED, 1, 60));
		assertThat(this.history.check(Map.of())).singleElement().asString().startsWith("G1");
	}

	@Test
	void doesNotOrderConcurrentCalls() {
		this.history.record(1, 4, result("a", Outcome.GRANTED, 2, 30));
		this.history.record(2, 3, result("b", Outcome.GRANTED, 1, 60));
		assertThat(this.history.check(Map.of())).isEmpty();
	}

	@Test
	void findsTermThatBeganWhileAnotherWasLive() {
		this.history.record(1, 2, result("a", Outcome.GRANTED, 1, 30));
		this.history.record(3, 4, result("b", Outcome.GRANTED, 2, 60));
		assertThat(this.history.check(began(Map.of(2L, at(29))))).singleElement().asString().startsWith("G2");
	}

	private static Map<String, Map<Long, Instant>> began(Map<Long, Instant> terms) {
		return Map.of("role", terms);
	}

	private static Instant at(long second) {
		return Instant.EPOCH.plusSeconds(second);
	}

	private static LeaseResult result(String owner, Outcome outcome, long token, long expiry) {
		return new LeaseResult("role", outcome, token, owner, at(expiry), Duration.ZERO);
	}

}
