package io.github.fencedleadership.election;

/**
 * Why a term ended on this node.
 */
public enum RevocationReason {

	/**
	 * The store refused a renewal: the lease lapsed, was taken or has vanished.
	 */
	LEASE_LOST,

	/**
	 * No renewal was confirmed before the local deadline.
	 */
	DEADLINE_PASSED,

	/**
	 * Wall time ran ahead of the monotonic clock past the deadline, as after the machine
	 * was suspended.
	 */
	CLOCK_JUMPED,

	/**
	 * Work showed no progress for longer than its stall timeout.
	 */
	STALLED,

	/**
	 * Work ended with an exception.
	 */
	WORK_FAILED,

	/**
	 * This node was asked to hand the role over.
	 */
	STEPPED_DOWN,

	/**
	 * The elector is stopping, or nothing on this node is interested in the role any
	 * longer.
	 */
	STOPPED

}
