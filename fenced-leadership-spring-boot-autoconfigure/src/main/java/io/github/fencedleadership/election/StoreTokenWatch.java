package io.github.fencedleadership.election;

import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;

import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;

/**
 * Notices when the store has lost terms, because it was restored from a backup or failed
 * over to a replica that had not caught up. Nothing is decided by that: new terms are
 * above all that this node has seen anyway. It is worth knowing because what was written
 * last may be lost as well, and because nodes that have seen less may be granted the lost
 * tokens again.
 */
final class StoreTokenWatch {

	private final Map<String, Long> newest = new HashMap<>();

	/**
	 * Take note of an answer.
	 * @param result the answer
	 * @return the token that the role had in the last answer if this one is below it,
	 * empty otherwise
	 */
	OptionalLong observe(LeaseResult result) {
		if (result.outcome() == Outcome.BUSY) {
			return OptionalLong.empty();
		}
		Long before = this.newest.put(result.role(), result.fencingToken());
		return (before != null && result.fencingToken() < before) ? OptionalLong.of(before) : OptionalLong.empty();
	}

}
