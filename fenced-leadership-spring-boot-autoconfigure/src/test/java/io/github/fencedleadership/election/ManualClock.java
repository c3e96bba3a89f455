package io.github.fencedleadership.election;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;

/**
 * The clocks of a node, and of a store, moved by hand.
 */
final class ManualClock implements ElectionClock, InstantSource {

	private static final Instant ORIGIN = Instant.parse("2026-03-29T00:59:00Z");

	private long nanos;

	private long wallOffsetMillis;

	@Override
	public long nanos() {
		return this.nanos;
	}

	@Override
	public long wallMillis() {
		return instant().toEpochMilli() + this.wallOffsetMillis;
	}

	/**
	 * The time by the clock of the store, which takes no part in the steps of the wall
	 * clock.
	 */
	@Override
	public Instant instant() {
		return ORIGIN.plusNanos(this.nanos);
	}

	void advance(Duration duration) {
		this.nanos += duration.toNanos();
	}

	void advanceTo(long nanos) {
		this.nanos = Math.max(this.nanos, nanos);
	}

	void stepWallClock(Duration step) {
		this.wallOffsetMillis += step.toMillis();
	}

}
