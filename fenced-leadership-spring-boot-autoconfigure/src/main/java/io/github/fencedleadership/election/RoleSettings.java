package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

/**
 * The times that govern one role.
 *
 * @param leaseTtl for how long a lease is held without being renewed; bounds how long a
 * role is without a leader after one has died
 * @param renewInterval how often a held lease is renewed
 * @param standbyPollInterval how often a standby looks for a role that was released early
 * @param safetyMargin by how much the local deadline is earlier than the lease's expiry
 * @param stallTimeout after how long without progress work loses its leadership,
 * {@code null} for never
 */
public record RoleSettings(Duration leaseTtl, Duration renewInterval, Duration standbyPollInterval,
		Duration safetyMargin, @Nullable Duration stallTimeout) {

	/**
	 * The lease TTL if none is given.
	 */
	public static final Duration DEFAULT_LEASE_TTL = Duration.ofSeconds(30);

	/**
	 * The shortest lease TTL that is accepted.
	 */
	public static final Duration MIN_LEASE_TTL = Duration.ofMillis(100);

	/**
	 * The longest duration that is accepted.
	 */
	public static final Duration MAX_DURATION = Duration.ofDays(365);

	public RoleSettings {
		Objects.requireNonNull(leaseTtl, "'leaseTtl' must not be null");
		Objects.requireNonNull(renewInterval, "'renewInterval' must not be null");
		Objects.requireNonNull(standbyPollInterval, "'standbyPollInterval' must not be null");
		Objects.requireNonNull(safetyMargin, "'safetyMargin' must not be null");
		requireBetween(leaseTtl, MIN_LEASE_TTL, "lease TTL");
		requireBetween(renewInterval, Duration.ofMillis(1), "renew interval");
		requireBetween(standbyPollInterval, Duration.ofMillis(1), "standby poll interval");
		requireBetween(safetyMargin, Duration.ofMillis(1), "safety margin");
		if (stallTimeout != null) {
			requireBetween(stallTimeout, Duration.ofMillis(1), "stall timeout");
		}
		if (renewInterval.multipliedBy(2).plus(safetyMargin).compareTo(leaseTtl) > 0) {
			throw new IllegalArgumentException(
					"Twice the renew interval '%s' and the safety margin '%s' must fit into the lease TTL '%s', so that one renewal may fail"
						.formatted(renewInterval, safetyMargin, leaseTtl));
		}
	}

	/**
	 * Settings with everything but the lease TTL derived: renewed every third of the TTL,
	 * polled every fifteenth, with a tenth as safety margin, and no stall timeout.
	 * @param leaseTtl the lease TTL
	 * @return the settings
	 */
	public static RoleSettings of(Duration leaseTtl) {
		return of(leaseTtl, null, null, null, null);
	}

	/**
	 * Settings with what is not given derived from the lease TTL and the renew interval.
	 * @param leaseTtl the lease TTL, {@code null} for 30 seconds
	 * @param renewInterval the renew interval, {@code null} for a third of the TTL
	 * @param standbyPollInterval the poll interval, {@code null} for a fifth of the renew
	 * interval
	 * @param safetyMargin the safety margin, {@code null} for a tenth of the TTL
	 * @param stallTimeout the stall timeout, {@code null} for none
	 * @return the settings
	 */
	public static RoleSettings of(@Nullable Duration leaseTtl, @Nullable Duration renewInterval,
			@Nullable Duration standbyPollInterval, @Nullable Duration safetyMargin, @Nullable Duration stallTimeout) {
		Duration ttl = (leaseTtl != null) ? leaseTtl : DEFAULT_LEASE_TTL;
		Duration renew = (renewInterval != null) ? renewInterval : ttl.dividedBy(3);
		Duration poll = (standbyPollInterval != null) ? standbyPollInterval : renew.dividedBy(5);
		Duration margin = (safetyMargin != null) ? safetyMargin : ttl.dividedBy(10);
		return new RoleSettings(ttl, renew, poll, margin, stallTimeout);
	}

	static void requireBetween(Duration value, Duration minimum, String what) {
		if (value.compareTo(minimum) < 0) {
			throw new IllegalArgumentException("The %s '%s' must be at least '%s'".formatted(what, value, minimum));
		}
		if (value.compareTo(MAX_DURATION) > 0) {
			throw new IllegalArgumentException("The %s '%s' must be at most '%s'".formatted(what, value, MAX_DURATION));
		}
	}

}
