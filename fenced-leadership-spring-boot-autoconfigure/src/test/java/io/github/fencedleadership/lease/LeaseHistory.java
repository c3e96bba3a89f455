package io.github.fencedleadership.lease;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import io.github.fencedleadership.lease.LeaseResult.Outcome;

/**
 * Records what a store answered to many callers, and checks the guarantees on tokens (G1)
 * and on live leases (G2).
 * <p>
 * Events carry the order in which their calls began and ended (a counter that all callers
 * share), so that only calls that were not concurrent are ordered.
 */
public final class LeaseHistory {

	private final Queue<Event> events = new ConcurrentLinkedQueue<>();

	private final Queue<Release> releases = new ConcurrentLinkedQueue<>();

	/**
	 * Record an answer.
	 * @param began a number drawn before the call
	 * @param ended a number drawn after the call
	 * @param result the answer
	 */
	public void record(long began, long ended, LeaseResult result) {
		if (result.acquired()) {
			this.events.add(new Event(began, ended, result));
		}
	}

	/**
	 * Record that a term was released.
	 * @param role the role
	 * @param token the token
	 */
	public void recordRelease(String role, long token) {
		this.releases.add(new Release(role, token));
	}

	/**
	 * Return how many terms began.
	 * @return the number of grants
	 */
	public long grants() {
		return this.events.stream().filter((event) -> event.result().outcome() == Outcome.GRANTED).count();
	}

	/**
	 * Check the history.
	 * @param acquiredAt when each term began by the store's clock, by role and token
	 * @return what contradicts the guarantees, empty if nothing does
	 */
	public List<String> check(Map<String, Map<Long, Instant>> acquiredAt) {
		List<String> violations = new ArrayList<>();
		Map<String, SortedMap<Long, List<Event>>> terms = new HashMap<>();
		for (Event event : this.events) {
			terms.computeIfAbsent(event.result().role(), (role) -> new TreeMap<>())
				.computeIfAbsent(event.result().fencingToken(), (token) -> new ArrayList<>())
				.add(event);
		}
		terms.forEach((role, byToken) -> {
			checkTerms(role, byToken, violations);
			checkOrder(role, byToken, violations);
			checkOverlap(role, byToken, acquiredAt.getOrDefault(role, Map.of()), violations);
		});
		return violations;
	}

	/** A token is granted once, and has one owner. */
	private void checkTerms(String role, SortedMap<Long, List<Event>> byToken, List<String> violations) {
		byToken.forEach((token, events) -> {
			long grants = events.stream().filter((event) -> event.result().outcome() == Outcome.GRANTED).count();
			if (grants > 1) {
				violations.add("G1: token %d of role '%s' was granted %d times".formatted(token, role, grants));
			}
			if (events.stream().map((event) -> event.result().ownerId()).distinct().count() > 1) {
				violations.add("G2: token %d of role '%s' has several owners: %s".formatted(token, role, events));
			}
		});
	}

	/** No answer carries a lower token than one that had ended before it began. */
	private void checkOrder(String role, SortedMap<Long, List<Event>> byToken, List<String> violations) {
		List<Event> byBegin = byToken.values()
			.stream()
			.flatMap(List::stream)
			.sorted(Comparator.comparingLong(Event::began))
			.toList();
		List<Event> byEnd = byBegin.stream().sorted(Comparator.comparingLong(Event::ended)).toList();
		long highest = 0;
		int next = 0;
		for (Event event : byBegin) {
			while (next < byEnd.size() && byEnd.get(next).ended() < event.began()) {
				highest = Math.max(highest, byEnd.get(next++).result().fencingToken());
			}
			if (event.result().fencingToken() < highest) {
				violations.add("G1: role '%s' went back from token %d to %s".formatted(role, highest, event));
			}
		}
	}

	/**
	 * A term does not begin before the last promise of an earlier one has run out, unless
	 * that one was released.
	 */
	private void checkOverlap(String role, SortedMap<Long, List<Event>> byToken, Map<Long, Instant> acquiredAt,
			List<String> violations) {
		Instant promised = Instant.MIN;
		long promisedBy = 0;
		for (Map.Entry<Long, List<Event>> term : byToken.entrySet()) {
			Instant began = acquiredAt.get(term.getKey());
			if (began != null && began.isBefore(promised)) {
				violations.add("G2: term %d of role '%s' began at %s although term %d was promised until %s"
					.formatted(term.getKey(), role, began, promisedBy, promised));
			}
			if (!this.releases.contains(new Release(role, term.getKey()))) {
				for (Event event : term.getValue()) {
					Instant expiresAt = event.result().expiresAt();
					if (expiresAt != null && expiresAt.isAfter(promised)) {
						promised = expiresAt;
						promisedBy = term.getKey();
					}
				}
			}
		}
	}

	private record Event(long began, long ended, LeaseResult result) {

	}

	private record Release(String role, long token) {

	}

}
