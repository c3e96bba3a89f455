package io.github.fencedleadership.chaos;

import java.util.Optional;

/**
 * What happened in a node, between two readings of the monotonic clock that all processes
 * of a machine share.
 *
 * @param before a reading from before, in nanoseconds
 * @param after a reading from after
 * @param node the owner id of the node
 * @param kind what happened
 * @param role the role, or a dash
 * @param token the fencing token of the term, or 0
 * @param detail what else there is to know, without blanks, or a dash
 */
record HistoryEvent(long before, long after, String node, Kind kind, String role, long token, String detail) {

	private static final String MARKER = "@";

	String toLine() {
		return String.join(" ", MARKER, Long.toString(this.before), Long.toString(this.after), this.node,
				this.kind.name(), this.role, Long.toString(this.token), this.detail);
	}

	/**
	 * Read an event from a line of output.
	 * @param line the line
	 * @return the event, empty if the line tells of something else
	 */
	static Optional<HistoryEvent> parse(String line) {
		String[] parts = line.split(" ", -1);
		if (parts.length != 8 || !parts[0].equals(MARKER)) {
			return Optional.empty();
		}
		return Optional.of(new HistoryEvent(Long.parseLong(parts[1]), Long.parseLong(parts[2]), parts[3],
				Kind.valueOf(parts[4]), parts[5], Long.parseLong(parts[6]), parts[7]));
	}

	/**
	 * What can happen.
	 */
	enum Kind {

		/** The node contends. */
		STARTED,

		/** The listener was told of a grant. */
		GRANTED,

		/** The listener was told of a revocation. The detail is the reason. */
		REVOKED,

		/** Work began. */
		WORK_STARTED,

		/** Work ended. */
		WORK_ENDED,

		/** {@code isHeld()} was true. */
		HELD,

		/** The register was read, and work on what comes next begins. */
		READ,

		/** A guarded write was committed. The detail is the element. */
		ACKNOWLEDGED,

		/** A guarded write was refused by the guard. The detail is the exception. */
		REFUSED,

		/** A guarded write failed otherwise. The detail is the exception. */
		FAILED,

		/** The node was asked to stop. */
		STOPPING,

		/** The elector has stopped. */
		STOPPED,

		/** The elector reported a failure of its own. */
		ELECTOR_FAILED

	}

}
