package io.github.fencedleadership.election;

import java.time.Duration;
import java.time.Instant;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.fencing.FencingToken;

/**
 * What one node is to one role, for people to read.
 *
 * @param role the role
 * @param state the state of the node
 * @param since since when it is in that state, by the node's wall clock
 * @param reason why it is in that state, in words
 * @param fencingToken the token of this node's term, {@code null} if it has none
 * @param remaining for how long the term is certainly held, zero if it is not
 */
public record RoleStatus(String role, State state, Instant since, String reason, @Nullable FencingToken fencingToken,
		Duration remaining) {

	/**
	 * What a node can be to a role.
	 */
	public enum State {

		/**
		 * The elector is not running, or has not begun to contend.
		 */
		STOPPED,

		/**
		 * Contends for the role, which another node leads or which is free.
		 */
		STANDBY,

		/**
		 * Leads the role.
		 */
		LEADING,

		/**
		 * The term is over, and its work or the release of its lease is not.
		 */
		DRAINING,

		/**
		 * The term is over because work got stuck, and the work is still running.
		 */
		STALLED,

		/**
		 * Leaves the role to other nodes for a while after a failure or a step-down.
		 */
		BACKING_OFF

	}

}
