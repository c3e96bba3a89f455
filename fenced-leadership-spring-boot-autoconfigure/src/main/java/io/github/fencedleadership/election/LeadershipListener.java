package io.github.fencedleadership.election;

import io.github.fencedleadership.fencing.FencingToken;

/**
 * Is told of the terms of this node. Calls come from a thread of their own, one at a time
 * and in order: per term exactly one grant and, once it is over, exactly one revocation
 * with the same token. A listener that throws or blocks holds up other calls of
 * listeners, but neither renewal, nor revocation, nor work. A stop of the elector waits
 * until the last call has returned, within the bounds of the drain timeout.
 */
public interface LeadershipListener {

	/**
	 * This node was granted a role.
	 * @param token the fencing token of the term
	 */
	default void granted(FencingToken token) {
	}

	/**
	 * A term of this node is over. Work that ignores interrupts may still be running.
	 * @param token the fencing token of the term
	 * @param reason why it is over
	 */
	default void revoked(FencingToken token, RevocationReason reason) {
	}

}
