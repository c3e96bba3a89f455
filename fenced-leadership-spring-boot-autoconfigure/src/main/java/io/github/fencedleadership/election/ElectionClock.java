package io.github.fencedleadership.election;

/**
 * The two clocks of a node.
 */
interface ElectionClock {

	/**
	 * Return the monotonic time, from an arbitrary but recent origin so that instants can
	 * be compared as they are.
	 * @return nanoseconds
	 */
	long nanos();

	/**
	 * Return the wall time. It only ever ends belief, see {@link Term}.
	 * @return milliseconds since the epoch
	 */
	long wallMillis();

	static ElectionClock system() {
		long origin = System.nanoTime();
		return new ElectionClock() {

			@Override
			public long nanos() {
				return System.nanoTime() - origin;
			}

			@Override
			public long wallMillis() {
				return System.currentTimeMillis();
			}

		};
	}

}
