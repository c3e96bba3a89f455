package io.github.fencedleadership.election;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link StoreClockWatch}.
 */
class StoreClockWatchTests {

	private static final Instant START = Instant.parse("2026-10-25T00:59:00Z");

	private final StoreClockWatch watch = new StoreClockWatch();

	@Test
	void aClockThatGoesOnIsNotReported() {
		assertThat(observe(0, 0, 0)).isEmpty();
		assertThat(observe(10, 10, 10)).isEmpty();
		assertThat(observe(20, 20, 20)).isEmpty();
	}

	@Test
	void aClockThatWasSetBackIsReportedOnce() {
		observe(0, 0, 0);
		assertThat(observe(-50, 10, 10)).contains(Duration.ofSeconds(60));
		assertThat(observe(-40, 20, 20)).isEmpty();
	}

	@Test
	void aClockThatWasSetForwardIsNotReported() {
		observe(0, 0, 0);
		assertThat(observe(3600, 10, 10)).isEmpty();
	}

	@Test
	void aCallThatTookLongIsNotMistakenForAStep() {
		// The store's clock was read at the end of the first call and at the beginning of
		// the second.
		observe(4, 0, 4);
		assertThat(observe(10, 10, 14)).isEmpty();
		// And the other way round.
		observe(20, 20, 24);
		assertThat(observe(34, 30, 34)).isEmpty();
		assertThat(observe(36, 36, 45)).isEmpty();
	}

	private Optional<Duration> observe(long storeSeconds, long sentAtSeconds, long answeredAtSeconds) {
		return this.watch.observe(START.plusSeconds(storeSeconds), Duration.ofSeconds(sentAtSeconds).toNanos(),
				Duration.ofSeconds(answeredAtSeconds).toNanos());
	}

}
