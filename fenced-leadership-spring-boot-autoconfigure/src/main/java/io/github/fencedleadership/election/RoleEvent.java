package io.github.fencedleadership.election;

import io.github.fencedleadership.lease.LeaseResult;

/**
 * What can happen to a role on a node.
 */
sealed interface RoleEvent {

	/**
	 * The node is to contend for the role.
	 */
	record Contend() implements RoleEvent {
	}

	/**
	 * The node is to give the role up.
	 */
	record Stop() implements RoleEvent {
	}

	/**
	 * The node stops now: whatever is held is left to lapse.
	 */
	record Abandon() implements RoleEvent {
	}

	/**
	 * The role is to be handed over.
	 */
	record StepDown() implements RoleEvent {
	}

	/**
	 * Somebody is said to have released the lease of the role.
	 */
	record Vacated() implements RoleEvent {
	}

	/**
	 * Something may be sent to the store.
	 *
	 * @param requestId the id of the request if one is sent
	 */
	record Send(long requestId) implements RoleEvent {
	}

	/**
	 * The store has answered a lease request.
	 *
	 * @param requestId the id of the request
	 * @param sentAt an instant before the request was sent
	 * @param result the answer
	 */
	record Answered(long requestId, long sentAt, LeaseResult result) implements RoleEvent {
	}

	/**
	 * The store has carried out a release, or found that there was nothing to release.
	 *
	 * @param requestId the id of the request
	 */
	record Released(long requestId) implements RoleEvent {
	}

	/**
	 * A request has not been answered; whether it was carried out is unknown.
	 *
	 * @param requestId the id of the request
	 */
	record Unanswered(long requestId) implements RoleEvent {
	}

	/**
	 * Time has passed.
	 */
	record Tick() implements RoleEvent {
	}

	/**
	 * Work of the current term has to end for a reason that is not the store's.
	 *
	 * @param reason why
	 */
	record Ended(RevocationReason reason) implements RoleEvent {
	}

	/**
	 * The last work of the term has ended.
	 */
	record Drained() implements RoleEvent {
	}

}
