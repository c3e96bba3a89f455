package io.github.fencedleadership.election;

import java.time.Duration;

/**
 * The times of a role in nanoseconds.
 */
record RoleTimes(long ttl, long renewInterval, long pollInterval, long margin, long drainTimeout) {

	/**
	 * For how long standbys that wait for the same lease to lapse are spread.
	 */
	private static final long EXPIRY_JITTER = Duration.ofMillis(20).toNanos();

	static RoleTimes of(RoleSettings settings, Duration drainTimeout) {
		return new RoleTimes(settings.leaseTtl().toNanos(), settings.renewInterval().toNanos(),
				settings.standbyPollInterval().toNanos(), settings.safetyMargin().toNanos(), drainTimeout.toNanos());
	}

	/**
	 * How long a confirmed request is good for, counted from before it was sent.
	 * @return the duration
	 */
	long belief() {
		return this.ttl - this.margin;
	}

	/**
	 * How soon to ask again for a role that was busy or got no answer.
	 * @param random a random number from 0 to 1
	 * @return the duration
	 */
	long retry(double random) {
		return jitter(Math.min(this.renewInterval, this.pollInterval) / 4, random);
	}

	long expiryJitter(double random) {
		return (long) (Math.min(EXPIRY_JITTER, this.pollInterval / 4) * random);
	}

	/**
	 * For how long to leave the role to others: long enough for them to notice, doubled
	 * with every failure in a row.
	 * @param failures how many failures in a row, 0 for a step-down
	 * @param random a random number from 0 to 1
	 * @return the duration
	 */
	long holdOff(int failures, double random) {
		double base = 2.0 * this.pollInterval;
		double grown = Math.min(base * Math.pow(2, Math.max(failures - 1, 0)), (double) maxHoldOff());
		return jitter((long) Math.max(base, grown), random);
	}

	long maxHoldOff() {
		return 2 * this.ttl;
	}

	private static long jitter(long duration, double random) {
		return duration + (long) (duration * random / 2);
	}

}
