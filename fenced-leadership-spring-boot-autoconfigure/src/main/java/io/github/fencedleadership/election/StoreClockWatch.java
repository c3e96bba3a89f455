package io.github.fencedleadership.election;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

/**
 * Notices when the store's clock was set back, from what its answers tell of it. Nothing
 * is decided by that: it is worth knowing because the lease of a dead leader then lasts
 * so much longer.
 */
final class StoreClockWatch {

	private static final Duration WORTH_TELLING = Duration.ofSeconds(1);

	/**
	 * The store's clock less the monotonic clock, at least, when last looked at.
	 */
	private @Nullable Duration leastOffset;

	/**
	 * Take note of an answer.
	 * @param storeTime what the store's clock showed at some instant of the call
	 * @param sentAt when the call began, in nanoseconds of the monotonic clock
	 * @param answeredAt when it had ended
	 * @return by how much the store's clock was certainly set back since the last answer,
	 * empty if it was not, or not by much
	 */
	Optional<Duration> observe(Instant storeTime, long sentAt, long answeredAt) {
		Duration sinceEpoch = Duration.between(Instant.EPOCH, storeTime);
		Duration mostOffset = sinceEpoch.minusNanos(sentAt);
		Duration before = this.leastOffset;
		this.leastOffset = sinceEpoch.minusNanos(answeredAt);
		if (before == null) {
			return Optional.empty();
		}
		Duration step = before.minus(mostOffset);
		return (step.compareTo(WORTH_TELLING) >= 0) ? Optional.of(step) : Optional.empty();
	}

}
