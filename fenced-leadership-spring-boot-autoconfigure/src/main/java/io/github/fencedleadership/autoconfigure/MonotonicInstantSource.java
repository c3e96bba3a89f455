package io.github.fencedleadership.autoconfigure;

import java.time.Instant;
import java.time.InstantSource;

/**
 * A clock that starts at the wall clock's time and from then on only ever goes forward,
 * at the rate of the monotonic clock. It is the clock of in-memory stores, so that a step
 * of the wall clock neither ends nor prolongs a lease.
 */
final class MonotonicInstantSource implements InstantSource {

	private final Instant origin = Instant.now();

	private final long originNanos = System.nanoTime();

	@Override
	public Instant instant() {
		return this.origin.plusNanos(System.nanoTime() - this.originNanos);
	}

}
