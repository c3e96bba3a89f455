package io.github.fencedleadership.lease;

import java.time.Duration;
import java.time.Instant;
import java.util.Objects;

/**
 * A lease as its store saw it: who holds a role, or held it last. Leases are never
 * deleted; one that was released or has lapsed stays visible with no time remaining.
 * <p>
 * All instants, and the remaining time, are by the store's clock.
 *
 * @param role the role
 * @param ownerId the owner of the current or, when not {@link #isLive() live}, the last
 * term
 * @param fencingToken the fencing token of that term, at least 1
 * @param acquiredAt when that term began
 * @param renewedAt when it was last renewed
 * @param expiresAt when it lapses, or when it lapsed or was released
 * @param remaining what was left of it when the store was asked, zero if not live
 */
public record Lease(String role, String ownerId, long fencingToken, Instant acquiredAt, Instant renewedAt,
		Instant expiresAt, Duration remaining) {

	public Lease {
		Objects.requireNonNull(role, "'role' must not be null");
		Objects.requireNonNull(ownerId, "'ownerId' must not be null");
		Objects.requireNonNull(acquiredAt, "'acquiredAt' must not be null");
		Objects.requireNonNull(renewedAt, "'renewedAt' must not be null");
		Objects.requireNonNull(expiresAt, "'expiresAt' must not be null");
		Objects.requireNonNull(remaining, "'remaining' must not be null");
	}

	/**
	 * Return whether the lease was held when the store was asked.
	 * @return {@code true} if there was time remaining
	 */
	public boolean isLive() {
		return this.remaining.compareTo(Duration.ZERO) > 0;
	}

}
