package io.github.fencedleadership.election;

import java.time.Duration;

/**
 * Gives an elector a wall clock that can be stepped, as an operator or NTP would. The
 * monotonic clock stays that of the system.
 */
public final class SteppedWallClock {

	private volatile long offsetMillis;

	/**
	 * Give an elector this clock.
	 * @param builder builds the elector
	 * @return the builder
	 */
	public DefaultLeaderElector.Builder clockOf(DefaultLeaderElector.Builder builder) {
		ElectionClock system = ElectionClock.system();
		return builder.clock(new ElectionClock() {

			@Override
			public long nanos() {
				return system.nanos();
			}

			@Override
			public long wallMillis() {
				return system.wallMillis() + SteppedWallClock.this.offsetMillis;
			}

		});
	}

	/**
	 * Set the wall clock.
	 * @param offset by how much it is ahead of the system's
	 */
	public void setOffset(Duration offset) {
		this.offsetMillis = offset.toMillis();
	}

}
