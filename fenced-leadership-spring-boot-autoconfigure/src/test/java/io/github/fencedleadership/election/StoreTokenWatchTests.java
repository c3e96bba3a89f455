package io.github.fencedleadership.election;

import java.time.Duration;

import org.junit.jupiter.api.Test;

import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link StoreTokenWatch}.
 */
class StoreTokenWatchTests {

	private final StoreTokenWatch watch = new StoreTokenWatch();

	@Test
	void tokensThatRiseOrStayAreNotReported() {
		assertThat(this.watch.observe(result("a", Outcome.REFUSED, 7))).isEmpty();
		assertThat(this.watch.observe(result("a", Outcome.GRANTED, 8))).isEmpty();
		assertThat(this.watch.observe(result("a", Outcome.RENEWED, 8))).isEmpty();
	}

	@Test
	void aTokenThatFellIsReportedOnce() {
		this.watch.observe(result("a", Outcome.RENEWED, 8));
		assertThat(this.watch.observe(result("a", Outcome.REFUSED, 6))).hasValue(8);
		assertThat(this.watch.observe(result("a", Outcome.REFUSED, 6))).isEmpty();
		assertThat(this.watch.observe(result("a", Outcome.GRANTED, 9))).isEmpty();
	}

	@Test
	void aRowThatHasVanishedIsReported() {
		this.watch.observe(result("a", Outcome.RENEWED, 8));
		assertThat(this.watch.observe(result("a", Outcome.REFUSED, 0))).hasValue(8);
	}

	@Test
	void anAnswerThatSaysNothingIsNotMistakenForALoss() {
		this.watch.observe(result("a", Outcome.RENEWED, 8));
		assertThat(this.watch.observe(result("a", Outcome.BUSY, 0))).isEmpty();
		assertThat(this.watch.observe(result("a", Outcome.RENEWED, 8))).isEmpty();
	}

	@Test
	void rolesHaveNothingToDoWithEachOther() {
		this.watch.observe(result("a", Outcome.RENEWED, 8));
		assertThat(this.watch.observe(result("b", Outcome.RENEWED, 1))).isEmpty();
	}

	private static LeaseResult result(String role, Outcome outcome, long token) {
		return new LeaseResult(role, outcome, token, null, null, Duration.ZERO);
	}

}
