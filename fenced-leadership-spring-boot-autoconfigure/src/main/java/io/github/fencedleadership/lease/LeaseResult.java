package io.github.fencedleadership.lease;

import java.time.Duration;
import java.time.Instant;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

/**
 * What a store answers to one {@link LeaseRequest}.
 * <p>
 * After {@link Outcome#GRANTED} and {@link Outcome#RENEWED} the other components describe
 * the caller's own lease. After {@link Outcome#REFUSED} they describe the lease that
 * stands in the way, or the last term if a renewal came too late; they are empty (token
 * 0, no owner, no expiry) if the store has no row of the role. After {@link Outcome#BUSY}
 * they are always empty.
 *
 * @param role the role
 * @param outcome what became of the request
 * @param fencingToken the token of the lease described, 0 if there is none
 * @param ownerId the owner of the lease described
 * @param expiresAt when that lease lapses, by the store's clock
 * @param remaining what was left of it by the store's clock when the answer was made,
 * zero if it is not live
 */
public record LeaseResult(String role, Outcome outcome, long fencingToken, @Nullable String ownerId,
		@Nullable Instant expiresAt, Duration remaining) {

	public LeaseResult {
		Objects.requireNonNull(role, "'role' must not be null");
		Objects.requireNonNull(outcome, "'outcome' must not be null");
		Objects.requireNonNull(remaining, "'remaining' must not be null");
	}

	/**
	 * Return whether the caller holds the lease.
	 * @return {@code true} after a grant and after a renewal
	 */
	public boolean acquired() {
		return this.outcome == Outcome.GRANTED || this.outcome == Outcome.RENEWED;
	}

	/**
	 * What became of a request.
	 */
	public enum Outcome {

		/**
		 * A new term began, with a token higher than any before.
		 */
		GRANTED,

		/**
		 * The caller's own live term was extended; its token is unchanged.
		 */
		RENEWED,

		/**
		 * Another owner holds the lease, or the term to renew is over.
		 */
		REFUSED,

		/**
		 * The lease is locked by somebody's transaction: nothing was read, changed or
		 * decided. Ask again.
		 */
		BUSY

	}

}
