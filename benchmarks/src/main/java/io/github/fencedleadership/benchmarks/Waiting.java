package io.github.fencedleadership.benchmarks;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Waiting for what is measured.
 */
final class Waiting {

	private static final Duration LIMIT = Duration.ofMinutes(2);

	private Waiting() {
	}

	/**
	 * Wait until something has come true.
	 * @param what what is waited for
	 * @param condition whether it has
	 * @throws InterruptedException if interrupted
	 */
	static void until(String what, BooleanSupplier condition) throws InterruptedException {
		long start = System.nanoTime();
		while (!condition.getAsBoolean()) {
			if (System.nanoTime() - start > LIMIT.toNanos()) {
				throw new IllegalStateException("Not within '%s': %s".formatted(LIMIT, what));
			}
			TimeUnit.MILLISECONDS.sleep(1);
		}
	}

	static void pass(Duration duration) throws InterruptedException {
		TimeUnit.NANOSECONDS.sleep(duration.toNanos());
	}

	static double millisSince(long start) {
		return (System.nanoTime() - start) / 1e6;
	}

}
