package io.github.fencedleadership.chaos;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;

import io.github.fencedleadership.chaos.History.ExpectedSuccessor;
import io.github.fencedleadership.chaos.History.LeaseRow;
import io.github.fencedleadership.chaos.History.Term;
import io.github.fencedleadership.chaos.History.Write;
import io.github.fencedleadership.chaos.HistoryEvent.Kind;
import io.github.fencedleadership.election.RevocationReason;

/**
 * Finds what contradicts the guarantees in a {@link History}. Where an instant is known
 * between two bounds only, it complains if there is no instant between them at which all
 * would have been well.
 */
final class HistoryChecker {

	private final History history;

	private final List<String> violations = new ArrayList<>();

	private final Map<String, List<LeaseRow>> leases = new TreeMap<>();

	/** The last state of each term: until when it was really held. */
	private final Map<Term, LeaseRow> terms = new HashMap<>();

	private final Map<Term, Long> releases = new LinkedHashMap<>();

	HistoryChecker(History history) {
		this.history = history;
		for (LeaseRow row : history.leases()) {
			// With token 0 a row is made, and nothing granted.
			if (row.token() > 0) {
				this.leases.computeIfAbsent(row.role(), (role) -> new ArrayList<>()).add(row);
				LeaseRow before = this.terms.put(new Term(row.role(), row.token()), row);
				if (before != null && row.expiresAt() < before.expiresAt()) {
					this.releases.put(new Term(row.role(), row.token()), row.expiresAt());
				}
			}
		}
	}

	/**
	 * Check the history.
	 * @return what contradicts the guarantees, empty if nothing does
	 */
	List<String> check() {
		this.leases.forEach(this::checkLeases);
		checkBelief();
		checkGrants();
		checkNodes();
		checkWrites();
		checkReleases();
		this.history.expectedSuccessors().forEach(this::checkSuccessor);
		return this.violations;
	}

	/**
	 * Return the elements that were acknowledged and are not there.
	 * @return the elements
	 */
	List<String> lost() {
		Set<String> present = new HashSet<>();
		Map<String, Write> byElement = new HashMap<>();
		this.history.writes().forEach((write) -> byElement.put(write.element(), write));
		this.history.heads().forEach((role, head) -> {
			// What the last write has read, and what that one has read, and so on.
			for (Write write = byElement.get(head); write != null; write = byElement.get(write.previous())) {
				present.add(write.element());
			}
		});
		return this.history.events()
			.stream()
			.filter((event) -> event.kind() == Kind.ACKNOWLEDGED && !present.contains(event.detail()))
			.map(HistoryEvent::detail)
			.toList();
	}

	private void checkLeases(String role, List<LeaseRow> rows) {
		LeaseRow before = rows.get(0);
		boolean released = false;
		for (LeaseRow row : rows.subList(1, rows.size())) {
			if (row.token() < before.token()) {
				report("G1: the token of role '%s' went from %d back to %d".formatted(role, before.token(),
						row.token()));
			}
			else if (row.token() == before.token()) {
				if (!row.owner().equals(before.owner())) {
					report("G1: token %d of role '%s' went from '%s' to '%s'".formatted(row.token(), role,
							before.owner(), row.owner()));
				}
				if (released && row.expiresAt() > before.expiresAt()) {
					report("G1: token %d of role '%s' was renewed after it had been released".formatted(row.token(),
							role));
				}
				released |= row.expiresAt() < before.expiresAt();
			}
			else if (row.acquiredAt() < before.expiresAt()) {
				report("G2: term %d of role '%s' began %d us before the lease of term %d expired".formatted(row.token(),
						role, before.expiresAt() - row.acquiredAt(), before.token()));
			}
			released &= row.token() == before.token();
			before = row;
		}
	}

	private void checkBelief() {
		for (HistoryEvent event : this.history.events()) {
			LeaseRow lease = this.terms.get(new Term(event.role(), event.token()));
			if (event.kind() == Kind.HELD && (lease == null || !lease.owner().equals(event.node())
					|| this.history.earliest(event.before()) >= lease.expiresAt())) {
				report("G3: '%s' held role '%s' with token %d at %d, and the lease was %s".formatted(event.node(),
						event.role(), event.token(), this.history.earliest(event.before()), lease));
			}
		}
	}

	private void checkGrants() {
		Map<Term, String> owners = new HashMap<>();
		for (HistoryEvent event : this.history.events()) {
			if (event.kind() == Kind.GRANTED) {
				Term term = new Term(event.role(), event.token());
				String other = owners.putIfAbsent(term, event.node());
				if (other != null) {
					report("G1: token %d of role '%s' was granted to '%s' and to '%s'".formatted(event.token(),
							event.role(), other, event.node()));
				}
				LeaseRow lease = this.terms.get(term);
				if (lease == null || !lease.owner().equals(event.node())) {
					report("G1: token %d of role '%s' was granted to '%s', and the database knows %s"
						.formatted(event.token(), event.role(), event.node(), lease));
				}
			}
		}
	}

	private void checkNodes() {
		Map<String, NodeState> nodes = new HashMap<>();
		for (HistoryEvent event : this.history.events()) {
			nodes.computeIfAbsent(event.node() + " " + event.role(), (key) -> new NodeState()).take(event);
			if (event.kind() == Kind.ELECTOR_FAILED) {
				report("G9: the elector of '%s' failed: %s".formatted(event.node(), event.detail()));
			}
			if (event.kind() == Kind.STOPPED) {
				nodes.forEach((key, state) -> state.checkStopped(key, event));
			}
		}
	}

	private void checkWrites() {
		Map<String, Write> last = new HashMap<>();
		for (Write write : this.history.writes()) {
			Write before = last.put(write.role(), write);
			if (before != null && write.token() < before.token()) {
				report("G7: version %d of '%s' was written with token %d after token %d".formatted(write.version(),
						write.role(), write.token(), before.token()));
			}
		}
		List<String> lost = lost();
		if (!lost.isEmpty()) {
			report("G7: %d acknowledged writes are missing: %s".formatted(lost.size(), lost));
		}
	}

	private void checkReleases() {
		Map<Term, HistoryEvent> running = new HashMap<>();
		for (HistoryEvent event : this.history.events()) {
			Term term = new Term(event.role(), event.token());
			Long releasedAt = this.releases.get(term);
			if (event.kind() == Kind.WORK_STARTED) {
				running.put(term, event);
			}
			else if (event.kind() == Kind.WORK_ENDED) {
				running.remove(term);
				if (releasedAt != null && this.history.earliest(event.before()) > releasedAt) {
					report("G5: term %d of role '%s' was released while its work was running".formatted(event.token(),
							event.role()));
				}
			}
		}
		running.forEach((term, event) -> {
			if (this.releases.containsKey(term)) {
				report("G5: term %d of role '%s' was released, and its work never ended".formatted(term.token(),
						term.role()));
			}
		});
		for (Term term : this.history.expectedReleases()) {
			if (!this.releases.containsKey(term) && !wasLostBefore(term)) {
				report("G5: term %d of role '%s' was stopped gracefully, and never released".formatted(term.token(),
						term.role()));
			}
		}
	}

	/**
	 * It may have lapsed in the moment in which the node was told to stop.
	 */
	private boolean wasLostBefore(Term term) {
		return this.history.events()
			.stream()
			.anyMatch((event) -> event.kind() == Kind.REVOKED && event.token() == term.token()
					&& event.role().equals(term.role()) && !event.detail().equals(RevocationReason.STOPPED.name()));
	}

	private void checkSuccessor(ExpectedSuccessor expected) {
		OptionalLong next = successorOf(expected.term());
		long limit = this.history.latest(expected.since()) + expected.within().toNanos() / 1000;
		if (next.isEmpty() || next.getAsLong() > limit) {
			report("Progress: term %d of role '%s' had no successor within '%s' after: %s"
				.formatted(expected.term().token(), expected.term().role(), expected.within(), expected.reason()));
		}
	}

	private OptionalLong successorOf(Term term) {
		return this.leases.getOrDefault(term.role(), List.of())
			.stream()
			.filter((row) -> row.token() > term.token())
			.mapToLong(LeaseRow::acquiredAt)
			.findFirst();
	}

	/**
	 * Return for how long roles were without a leader after faults that were alone.
	 * @return one line per kind of fault
	 */
	List<String> gaps() {
		Map<String, List<Long>> gaps = new TreeMap<>();
		for (ExpectedSuccessor expected : this.history.expectedSuccessors()) {
			successorOf(expected.term())
				.ifPresent((acquiredAt) -> gaps.computeIfAbsent(expected.reason(), (reason) -> new ArrayList<>())
					.add((acquiredAt - this.history.earliest(expected.since())) / 1000));
		}
		return gaps.entrySet().stream().map((entry) -> {
			List<Long> sorted = entry.getValue().stream().sorted().toList();
			return "%s: %d times, median %d ms, longest %d ms".formatted(entry.getKey(), sorted.size(),
					sorted.get(sorted.size() / 2), sorted.get(sorted.size() - 1));
		}).toList();
	}

	private void report(String violation) {
		this.violations.add(violation);
	}

	/**
	 * What a node is to a role, so far.
	 */
	private final class NodeState {

		private long granted;

		private long working;

		void take(HistoryEvent event) {
			switch (event.kind()) {
				case GRANTED -> {
					if (this.granted != 0) {
						report("G4: '%s' was granted role '%s' with token %d before token %d was revoked"
							.formatted(event.node(), event.role(), event.token(), this.granted));
					}
					this.granted = event.token();
				}
				case REVOKED -> {
					if (this.granted != event.token()) {
						report("G4: token %d of role '%s' was revoked from '%s', which had been granted %d"
							.formatted(event.token(), event.role(), event.node(), this.granted));
					}
					this.granted = 0;
				}
				case WORK_STARTED -> {
					if (this.working != 0) {
						report("G6: '%s' began the work of term %d of role '%s' while that of term %d was running"
							.formatted(event.node(), event.token(), event.role(), this.working));
					}
					this.working = event.token();
				}
				case WORK_ENDED -> this.working = 0;
				default -> {
				}
			}
		}

		void checkStopped(String key, HistoryEvent stopped) {
			if (this.granted != 0 && key.startsWith(stopped.node() + " ")) {
				report("G4: '%s' was granted token %d, and stopped without a revocation".formatted(key, this.granted));
			}
		}

	}

}
