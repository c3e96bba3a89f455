package io.github.fencedleadership.election;

import java.util.OptionalLong;

/**
 * What a role asks of the node.
 */
sealed interface RoleEffect {

	/**
	 * Ask the store for the lease: to renew the term with the held token, or to acquire.
	 */
	record RequestLease(long requestId, OptionalLong heldToken, long tokenFloor) implements RoleEffect {
	}

	/**
	 * Give the lease of a term back; without a token, whatever lease there is in this
	 * node's name.
	 */
	record ReleaseLease(long requestId, OptionalLong token) implements RoleEffect {
	}

	/**
	 * A term begins: start its work.
	 */
	record Grant(long token, long sentAt, long deadline) implements RoleEffect {
	}

	/**
	 * The term's lease was renewed.
	 */
	record Extend(long token, long sentAt, long deadline) implements RoleEffect {
	}

	/**
	 * The term is over: tell its work.
	 */
	record Revoke(long token, RevocationReason reason) implements RoleEffect {
	}

}
