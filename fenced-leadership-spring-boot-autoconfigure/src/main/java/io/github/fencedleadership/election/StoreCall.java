package io.github.fencedleadership.election;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import io.github.fencedleadership.election.ElectionCore.Round;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseStore;

/**
 * One call of the store: begun and answered under the lock of the elector, carried out
 * without it.
 */
sealed interface StoreCall {

	/**
	 * Carry the call out.
	 * @param leaseStore the store, which may block, and throw what it likes
	 * @return what the store answers
	 */
	Answer carryOut(LeaseStore leaseStore);

	/**
	 * Tell the core that there is no answer.
	 * @param core the core
	 */
	void unanswered(ElectionCore core);

	/**
	 * What the store has answered.
	 */
	interface Answer {

		/**
		 * Tell the core.
		 * @param core the core
		 */
		void tell(ElectionCore core);

		/**
		 * Return what the store says of leases.
		 * @return the results
		 */
		default Collection<LeaseResult> leaseResults() {
			return List.of();
		}

	}

	/**
	 * Acquires and renews leases.
	 *
	 * @param sentAt an instant before the call is carried out: what is counted from here
	 * is never too much
	 * @param wallSentAt the same by the wall clock
	 */
	record RequestLeases(String ownerId, long sentAt, long wallSentAt,
			List<Round.LeaseCall> calls) implements StoreCall {

		@Override
		public Answer carryOut(LeaseStore leaseStore) {
			List<LeaseRequest> requests = this.calls.stream().map(Round.LeaseCall::request).toList();
			Map<String, LeaseResult> results = new HashMap<>();
			leaseStore.tryAcquireOrRenew(this.ownerId, requests)
				.forEach((result) -> results.put(result.role(), result));
			return new Answer() {

				@Override
				public void tell(ElectionCore core) {
					RequestLeases.this.answered(core, results);
				}

				@Override
				public Collection<LeaseResult> leaseResults() {
					return results.values();
				}

			};
		}

		private void answered(ElectionCore core, Map<String, LeaseResult> results) {
			for (Round.LeaseCall call : this.calls) {
				LeaseResult result = results.get(call.request().role());
				if (result != null) {
					core.answered(call, this.sentAt, this.wallSentAt, result);
				}
				else {
					core.unanswered(call.request().role(), call.requestId());
				}
			}
		}

		@Override
		public void unanswered(ElectionCore core) {
			this.calls.forEach((call) -> core.unanswered(call.request().role(), call.requestId()));
		}

	}

	/**
	 * Gives back leases that were granted to one incarnation of the node.
	 */
	record ReleaseLeases(String ownerId, List<Round.ReleaseCall> calls) implements StoreCall {

		@Override
		public Answer carryOut(LeaseStore leaseStore) {
			Map<String, Long> tokens = tokens(leaseStore);
			Set<String> settled = new HashSet<>();
			this.calls.stream()
				.map(Round.ReleaseCall::role)
				.filter((role) -> !tokens.containsKey(role))
				.forEach(settled::add);
			if (!tokens.isEmpty()) {
				settled.addAll(leaseStore.release(this.ownerId, tokens).keySet());
			}
			return (core) -> answered(core, settled);
		}

		/**
		 * Where the outcome of an attempt is unknown, the store is asked for it.
		 */
		private Map<String, Long> tokens(LeaseStore leaseStore) {
			Map<String, Long> tokens = new HashMap<>();
			Set<String> unknown = new HashSet<>();
			for (Round.ReleaseCall call : this.calls) {
				call.token().ifPresentOrElse((token) -> tokens.put(call.role(), token), () -> unknown.add(call.role()));
			}
			Collection<Lease> leases = switch (unknown.size()) {
				case 0 -> List.of();
				case 1 -> leaseStore.find(unknown.iterator().next()).stream().toList();
				default -> leaseStore.findAll();
			};
			for (Lease lease : leases) {
				if (unknown.contains(lease.role()) && lease.ownerId().equals(this.ownerId) && lease.isLive()) {
					tokens.put(lease.role(), lease.fencingToken());
				}
			}
			return tokens;
		}

		private void answered(ElectionCore core, Set<String> settled) {
			for (Round.ReleaseCall call : this.calls) {
				if (settled.contains(call.role())) {
					core.released(call);
				}
				else {
					core.unanswered(call.role(), call.requestId());
				}
			}
		}

		@Override
		public void unanswered(ElectionCore core) {
			this.calls.forEach((call) -> core.unanswered(call.role(), call.requestId()));
		}

	}

}
