package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

import org.junit.jupiter.api.Test;

import io.github.fencedleadership.election.RoleStatus.State;
import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseStore;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ElectionCore} and the state machine in it, in virtual time. The
 * numbers of the guarantees are those of the README.
 */
class ElectionCoreTests {

	private static final RoleSettings SETTINGS = RoleSettings.of(Duration.ofSeconds(30));

	private final ManualClock clock = new ManualClock();

	private final FaultyStore store = new FaultyStore(new InMemoryLeaseStore(this.clock));

	@Test
	void g1AfterThirtyOneSecondsTheLeaseOfADeadNodeHasLapsedAndTheNextGetsTokenTwo() {
		VirtualNode a = node("a");
		VirtualNode b = node("b");
		a.register("reports");
		a.run();
		b.register("reports");
		b.advance(Duration.ofSeconds(29));
		assertThat(b.events).isEmpty();
		b.advance(Duration.ofSeconds(2));
		assertThat(a.events).containsExactly("granted reports#1", "started reports#1");
		assertThat(b.events).containsExactly("granted reports#2", "started reports#2");
	}

	@Test
	void aTakeoverComesAtTheExpiryAndNotAtTheNextPoll() {
		VirtualNode a = node("a");
		VirtualNode b = node("b");
		a.register("reports");
		a.run();
		b.register("reports");
		b.advance(Duration.ofSeconds(30).plusMillis(21));
		assertThat(b.events).contains("granted reports#2");
	}

	@Test
	void aRoleThatIsSaidToBeFreeIsAskedForAtOnce() {
		VirtualNode a = node("a");
		VirtualNode b = node("b");
		a.register("reports");
		a.run();
		b.register("reports");
		b.run();
		int statements = b.statements;
		b.core.vacated(List.of("reports", "unknown"));
		b.run();
		assertThat(b.statements).as("a false alarm costs one question").isEqualTo(statements + 1);
		assertThat(b.events).isEmpty();
		this.store.release("reports", "a", 1);
		b.core.vacated(List.of("reports"));
		b.run();
		assertThat(b.events).containsExactly("granted reports#2", "started reports#2");
		b.core.vacated(List.of("reports"));
		b.run();
		assertThat(b.state("reports")).isEqualTo(State.LEADING);
	}

	@Test
	void g2TheLeaseOfALeaderThatRenewsIsNeverTaken() {
		VirtualNode a = node("a");
		VirtualNode b = node("b");
		a.register("reports");
		a.run();
		b.register("reports");
		for (int i = 0; i < 600; i++) {
			a.run();
			b.advance(Duration.ofMillis(500));
		}
		assertThat(a.state("reports")).isEqualTo(State.LEADING);
		assertThat(b.events).isEmpty();
	}

	@Test
	void g3BeliefEndsByItselfAtTheDeadline() {
		VirtualNode a = node("a");
		a.register("reports");
		a.run();
		ActiveWork work = a.work();
		this.clock.advance(Duration.ofSeconds(27).minusNanos(1));
		assertThat(work.isHeld()).isTrue();
		assertThat(work.remaining()).isEqualTo(Duration.ofNanos(1));
		this.clock.advance(Duration.ofNanos(1));
		assertThat(work.isHeld()).isFalse();
		assertThat(work.remaining()).isZero();
		assertThat(a.isLive("reports")).isTrue();
	}

	@Test
	void g3TheDeadlineIsCountedFromBeforeTheRequest() {
		VirtualNode a = node("a");
		a.register("reports");
		this.store.duringCall = () -> this.clock.advance(Duration.ofSeconds(4));
		a.run();
		assertThat(a.work().remaining()).isEqualTo(Duration.ofSeconds(23));
	}

	@Test
	void g3AGrantThatArrivesAfterItsDeadlineIsGivenBack() {
		VirtualNode a = node("a");
		a.register("reports");
		this.store.duringCall = () -> this.clock.advance(Duration.ofSeconds(27));
		a.core.answered(onlyCall(a), 0, this.clock.wallMillis(), grantInStore(a, "reports"));
		assertThat(a.events).isEmpty();
		this.store.duringCall = () -> {
		};
		a.run();
		assertThat(a.releases).isOne();
		assertThat(a.events).containsExactly("granted reports#2", "started reports#2");
	}

	@Test
	void g3AReplyAfterTheDeadlineDoesNotReviveATerm() {
		VirtualNode a = node("a");
		a.stubborn = true;
		a.register("reports");
		a.run();
		ActiveWork work = a.work();
		this.store.duringCall = () -> this.clock.advance(Duration.ofSeconds(18));
		this.clock.advance(Duration.ofSeconds(10));
		a.run();
		assertThat(this.store.renewals).isOne();
		assertThat(work.isHeld()).isFalse();
		assertThat(a.events).endsWith("revoked reports#1 DEADLINE_PASSED");
		assertThat(a.state("reports")).isEqualTo(State.DRAINING);
	}

	@Test
	void g3WallTimeAheadEndsBeliefAndWallTimeBehindDoesNothing() {
		VirtualNode a = node("a");
		a.register("reports");
		a.run();
		ActiveWork work = a.work();
		this.clock.stepWallClock(Duration.ofHours(-1));
		a.advance(Duration.ofMinutes(5));
		assertThat(work.isHeld()).isTrue();
		this.clock.stepWallClock(Duration.ofHours(1));
		assertThat(work.isHeld()).isFalse();
		this.clock.stepWallClock(Duration.ofHours(-1));
		assertThat(work.isHeld()).isFalse();
		a.advance(Duration.ofSeconds(2));
		assertThat(a.events).contains("revoked reports#1 CLOCK_JUMPED", "granted reports#2");
	}

	@Test
	void g4WorkIsToldAtTheDeadlineWithoutTheStore() {
		VirtualNode a = node("a");
		a.register("reports");
		a.run();
		// Nobody answers, and nobody even asks: only the timer runs.
		this.clock.advance(Duration.ofSeconds(27));
		a.core.tick();
		assertThat(a.events).endsWith("revoked reports#1 DEADLINE_PASSED");
		a.core.tick();
		assertThat(a.events).hasSize(3);
	}

	@Test
	void g5TheLeaseIsRenewedWhileItsWorkDrainsAndReleasedAfterwards() {
		VirtualNode a = node("a");
		a.stubborn = true;
		a.register("reports");
		a.run();
		a.core.stop();
		a.advance(Duration.ofSeconds(19));
		assertThat(this.store.renewals).isOne();
		assertThat(this.store.releases).isZero();
		a.stubborn = false;
		a.run();
		assertThat(this.store.releases).isOne();
		assertThat(a.isLive("reports")).isFalse();
		assertThat(a.core.isStopped()).isTrue();
	}

	@Test
	void g5WorkThatWillNotEndIsNotReleasedUnder() {
		VirtualNode a = node("a");
		VirtualNode b = node("b");
		a.stubborn = true;
		a.register("reports");
		a.run();
		b.register("reports");
		a.core.stop();
		a.advance(Duration.ofMinutes(2));
		assertThat(this.store.releases).isZero();
		assertThat(this.store.renewals).isOne();
		assertThat(a.isLive("reports")).isFalse();
		b.run();
		assertThat(b.events).contains("granted reports#2");
		a.stubborn = false;
		a.run();
		assertThat(a.core.isStopped()).isTrue();
		assertThat(b.isLive("reports")).isTrue();
	}

	@Test
	void g6NoNewTermBeforeTheWorkOfTheOldOneHasEnded() {
		VirtualNode a = node("a");
		a.stubborn = true;
		a.register("reports");
		a.run();
		this.store.down = true;
		a.advance(Duration.ofSeconds(40));
		this.store.down = false;
		a.advance(Duration.ofMinutes(10));
		assertThat(a.events).containsExactly("granted reports#1", "started reports#1",
				"revoked reports#1 DEADLINE_PASSED");
		a.stubborn = false;
		a.advance(Duration.ofSeconds(1));
		assertThat(a.events).endsWith("ended reports#1", "granted reports#2", "started reports#2");
	}

	@Test
	void g9ContentionGoesOnAfterAnOutageAndTheStoreIsNotHammered() {
		VirtualNode a = node("a");
		a.register("reports");
		a.run();
		this.store.down = true;
		int before = this.store.calls;
		a.advance(Duration.ofSeconds(90));
		assertThat(this.store.calls - before).isBetween(3, 200);
		this.store.down = false;
		a.advance(Duration.ofSeconds(2));
		assertThat(a.events).endsWith("revoked reports#1 DEADLINE_PASSED", "ended reports#1", "granted reports#2",
				"started reports#2");
	}

	@Test
	void g9ATableThatComesBackEmptyGrantsAHigherToken() {
		VirtualNode a = node("a");
		a.register("reports");
		a.run();
		a.store = new InMemoryLeaseStore(this.clock);
		a.advance(Duration.ofSeconds(11));
		assertThat(a.events).endsWith("revoked reports#1 LEASE_LOST", "ended reports#1", "granted reports#2",
				"started reports#2");
	}

	@Test
	void g10AGrantWhoseReplyWasLostIsAdoptedWithItsToken() {
		VirtualNode a = node("a");
		a.register("reports");
		this.store.loseReply = true;
		a.run();
		assertThat(a.events).isEmpty();
		assertThat(a.isLive("reports")).isTrue();
		this.store.loseReply = false;
		a.advance(Duration.ofSeconds(1));
		assertThat(a.events).containsExactly("granted reports#1", "started reports#1");
	}

	@Test
	void g10AGrantWhoseReplyWasLostIsReadBackAndReleasedAtAStop() {
		VirtualNode a = node("a");
		a.register("reports");
		this.store.loseReply = true;
		a.run();
		this.store.loseReply = false;
		a.core.stop();
		a.run();
		assertThat(a.events).isEmpty();
		assertThat(a.isLive("reports")).isFalse();
		assertThat(a.core.isStopped()).isTrue();
	}

	@Test
	void g10ARenewalWhoseReplyWasLostIsNeitherLossNorGain() {
		VirtualNode a = node("a");
		a.register("reports");
		a.run();
		this.store.loseReply = true;
		a.advance(Duration.ofSeconds(10));
		assertThat(a.work().remaining()).isEqualTo(Duration.ofSeconds(17));
		this.store.loseReply = false;
		a.advance(Duration.ofSeconds(5));
		assertThat(a.work().remaining()).isGreaterThan(Duration.ofSeconds(20));
		assertThat(a.events).containsExactly("granted reports#1", "started reports#1");
	}

	@Test
	void g11StatementsDoNotGrowWithTheNumberOfRoles() {
		int one = statementsPerMinute(1, true);
		assertThat(statementsPerMinute(500, true)).isLessThanOrEqualTo(one);
		int standby = statementsPerMinute(1, false);
		assertThat(statementsPerMinute(500, false)).isLessThanOrEqualTo(standby);
		assertThat(one).isLessThanOrEqualTo(7);
		assertThat(standby).isLessThanOrEqualTo(31);
	}

	private int statementsPerMinute(int roles, boolean leading) {
		VirtualNode other = node("other-" + roles + leading);
		VirtualNode node = node("node-" + roles + leading);
		for (int i = 0; i < roles; i++) {
			String role = roles + "-" + leading + "-" + i;
			if (!leading) {
				other.register(role);
			}
			else {
				node.register(role);
				// Acquired at different times, which must not last.
				node.advance(Duration.ofMillis(17));
			}
		}
		other.run();
		for (int i = 0; i < roles && !leading; i++) {
			node.register(roles + "-" + leading + "-" + i);
			node.advance(Duration.ofMillis(7));
			other.run();
		}
		for (int i = 0; i < 120; i++) {
			other.run();
			node.advance(Duration.ofMillis(500));
		}
		int before = node.statements;
		for (int i = 0; i < 120; i++) {
			other.run();
			node.advance(Duration.ofMillis(500));
		}
		return node.statements - before;
	}

	@Test
	void g11ALockedRowCostsItsOwnRoleOnly() {
		VirtualNode a = node("a");
		a.register("free");
		a.register("locked");
		a.run();
		this.store.busy.add("locked");
		a.advance(Duration.ofSeconds(40));
		assertThat(a.events).contains("revoked locked#1 DEADLINE_PASSED")
			.noneMatch((event) -> event.startsWith("revoked free"));
		this.store.busy.clear();
		a.advance(Duration.ofSeconds(3));
		assertThat(a.events).contains("granted locked#2");
		assertThat(this.store.calls).isLessThan(150);
	}

	@Test
	void g12StalledWorkLosesItsLeadershipAndTheNodeDoesNotContendUntilItEnds() {
		RoleSettings settings = RoleSettings.of(null, null, null, null, Duration.ofSeconds(45));
		VirtualNode a = node("a", settings);
		VirtualNode b = node("b", settings);
		a.stubborn = true;
		a.register("reports");
		a.run();
		b.register("reports");
		ActiveWork work = a.work();
		a.advance(Duration.ofSeconds(40));
		work.progress();
		a.advance(Duration.ofSeconds(44));
		assertThat(a.state("reports")).isEqualTo(State.LEADING);
		a.advance(Duration.ofSeconds(1));
		assertThat(a.events).endsWith("stalled reports#1", "revoked reports#1 STALLED");
		assertThat(a.state("reports")).isEqualTo(State.STALLED);
		int renewals = this.store.renewals;
		a.advance(Duration.ofSeconds(31));
		assertThat(this.store.renewals).isEqualTo(renewals);
		b.run();
		assertThat(b.events).contains("granted reports#2");
		a.stubborn = false;
		a.run();
		assertThat(a.state("reports")).isNotEqualTo(State.STALLED);
		assertThat(b.isLive("reports")).isTrue();
	}

	@Test
	void g12WithoutAStallTimeoutSilenceIsReportedOnce() {
		VirtualNode a = node("a");
		a.register("reports");
		a.advance(Duration.ofSeconds(299));
		assertThat(a.events).doesNotContain("silent reports#1");
		a.advance(Duration.ofHours(1));
		assertThat(a.events).containsOnlyOnce("silent reports#1");
		assertThat(a.state("reports")).isEqualTo(State.LEADING);
	}

	@Test
	void failedWorkBacksOffLongerEveryTime() {
		VirtualNode a = node("a");
		a.register("reports");
		List<Long> pauses = new ArrayList<>();
		for (int i = 0; i < 5; i++) {
			a.run();
			long ended = this.clock.nanos();
			a.end(a.work(), new IllegalStateException("test"));
			a.run();
			assertThat(a.state("reports")).isEqualTo(State.BACKING_OFF);
			while (a.running.isEmpty()) {
				this.clock.advanceTo(a.nextInstant());
				a.run();
			}
			pauses.add((this.clock.nanos() - ended) / 1_000_000);
		}
		assertThat(pauses.get(0)).isBetween(4_000L, 6_100L);
		assertThat(pauses.get(2)).isBetween(16_000L, 24_100L);
		assertThat(pauses.get(4)).isBetween(60_000L, 90_100L);
	}

	@Test
	void whileOneNodeBacksOffAnotherLeads() {
		VirtualNode a = node("a");
		VirtualNode b = node("b");
		a.register("reports");
		a.run();
		b.register("reports");
		b.run();
		a.end(a.work(), new IllegalStateException("test"));
		a.run();
		b.advance(Duration.ofSeconds(2));
		assertThat(b.events).contains("granted reports#2");
		a.run();
		assertThat(a.events).doesNotContain("granted reports#3");
	}

	@Test
	void aStepDownReleasesAndLeavesTheRoleToAnotherNode() {
		VirtualNode a = node("a");
		VirtualNode b = node("b");
		a.register("reports");
		a.run();
		b.register("reports");
		b.run();
		assertThat(a.core.stepDown("reports")).isTrue();
		a.run();
		assertThat(a.events).endsWith("revoked reports#1 STEPPED_DOWN", "ended reports#1");
		b.advance(Duration.ofSeconds(2));
		assertThat(b.events).contains("granted reports#2");
	}

	@Test
	void theRemainsOfATermThatIsOverAreReleasedAndNotEnteredAgain() {
		VirtualNode a = node("a");
		a.register("reports");
		a.run();
		// The term ends here, but the store goes down before it can be released, and
		// a late renewal has kept its lease alive meanwhile.
		this.clock.advance(Duration.ofSeconds(27));
		this.store.down = true;
		a.run();
		this.store.delegate.tryAcquireOrRenew("a", List.of(LeaseRequest.renew("reports", Duration.ofMinutes(5), 1)));
		a.advance(Duration.ofSeconds(60));
		this.store.down = false;
		a.advance(Duration.ofSeconds(10));
		assertThat(a.events.stream().filter((event) -> event.startsWith("granted")))
			.containsExactly("granted reports#1", "granted reports#2");
	}

	@Test
	void g1AGrantThatAFailoverBringsBackIsNotAdoptedOnceALaterTermWasSeen() {
		VirtualNode a = node("a");
		a.register("reports");
		this.store.loseReply = true;
		a.run();
		this.store.loseReply = false;
		this.clock.advance(Duration.ofSeconds(31));
		this.store.delegate.tryAcquireOrRenew("reports", "b", Duration.ofMinutes(5));
		a.advance(Duration.ofSeconds(1));
		InMemoryLeaseStore replica = new InMemoryLeaseStore(this.clock);
		replica.tryAcquireOrRenew("reports", "a", Duration.ofMinutes(5));
		a.store = replica;
		a.advance(Duration.ofSeconds(10));
		assertThat(a.events).containsExactly("granted reports#3", "started reports#3");
	}

	@Test
	void aLeaseThatWasTakenIsNotReleased() {
		VirtualNode a = node("a");
		a.register("reports");
		a.run();
		this.clock.advance(Duration.ofSeconds(10));
		this.store.delegate.release("reports", "a", 1);
		this.store.delegate.tryAcquireOrRenew("reports", "b", Duration.ofSeconds(30));
		a.run();
		assertThat(a.events).endsWith("revoked reports#1 LEASE_LOST", "ended reports#1");
		assertThat(a.releases).isZero();
		assertThat(a.state("reports")).isEqualTo(State.STANDBY);
	}

	@Test
	void aLeaseThatIsSaidToHaveLapsedLongAgoIsNotAskedForWithoutAPause() {
		VirtualNode a = node("a");
		a.register("reports");
		ElectionCore.Round.LeaseCall call = onlyCall(a);
		a.core.answered(call, this.clock.nanos(), this.clock.wallMillis(),
				new LeaseResult("reports", LeaseResult.Outcome.REFUSED, 1, "other", null, Duration.ofSeconds(-1)));
		assertThat(a.core.nextRound()).isGreaterThan(this.clock.nanos());
	}

	@Test
	void workThatEndsAfterTheNodeHasStoppedLeavesItsLeaseToLapse() {
		VirtualNode a = node("a");
		a.stubborn = true;
		a.register("reports");
		a.run();
		a.core.stop();
		a.core.abandon();
		assertThat(a.state("reports")).isEqualTo(State.DRAINING);
		a.stubborn = false;
		a.endInterruptedWork();
		assertThat(a.state("reports")).isEqualTo(State.STOPPED);
		assertThat(a.core.isStopped()).isTrue();
	}

	@Test
	void g12SilenceIsReportedInEveryTerm() {
		VirtualNode a = node("a");
		a.register("reports");
		a.advance(Duration.ofSeconds(301));
		a.core.stepDown("reports");
		a.advance(Duration.ofSeconds(320));
		assertThat(a.events).containsOnlyOnce("silent reports#1").containsOnlyOnce("silent reports#2");
	}

	private VirtualNode node(String ownerId) {
		return node(ownerId, SETTINGS);
	}

	private VirtualNode node(String ownerId, RoleSettings settings) {
		return new VirtualNode(ownerId, this.clock, this.store, settings, Duration.ofSeconds(20));
	}

	private static ElectionCore.Round.LeaseCall onlyCall(VirtualNode node) {
		return node.core.beginRound().leaseCalls().get(0);
	}

	private LeaseResult grantInStore(VirtualNode node, String role) {
		return this.store.tryAcquireOrRenew(role, node.ownerId, Duration.ofSeconds(30));
	}

	private static final class FaultyStore implements LeaseStore {

		private final InMemoryLeaseStore delegate;

		private final Set<String> busy = new TreeSet<>();

		private Runnable duringCall = () -> {
		};

		private boolean down;

		private boolean loseReply;

		private int calls;

		private int renewals;

		private int releases;

		FaultyStore(InMemoryLeaseStore delegate) {
			this.delegate = delegate;
		}

		@Override
		public List<LeaseResult> tryAcquireOrRenew(String ownerId, Collection<LeaseRequest> requests) {
			this.calls++;
			failIf(this.down);
			List<LeaseRequest> free = requests.stream()
				.filter((request) -> !this.busy.contains(request.role()))
				.toList();
			List<LeaseResult> answers = this.delegate.tryAcquireOrRenew(ownerId, free);
			this.renewals += (int) answers.stream()
				.filter((result) -> result.outcome() == LeaseResult.Outcome.RENEWED)
				.count();
			this.duringCall.run();
			failIf(this.loseReply);
			return requests.stream().map((request) -> answer(request, answers)).toList();
		}

		private LeaseResult answer(LeaseRequest request, List<LeaseResult> answers) {
			return answers.stream()
				.filter((result) -> result.role().equals(request.role()))
				.findFirst()
				.orElseGet(
						() -> new LeaseResult(request.role(), LeaseResult.Outcome.BUSY, 0, null, null, Duration.ZERO));
		}

		@Override
		public boolean release(String role, String ownerId, long fencingToken) {
			failIf(this.down);
			this.releases++;
			return this.delegate.release(role, ownerId, fencingToken);
		}

		@Override
		public Optional<Lease> find(String role) {
			return this.delegate.find(role);
		}

		@Override
		public List<Lease> findAll() {
			return this.delegate.findAll();
		}

		private static void failIf(boolean failing) {
			if (failing) {
				throw new IllegalStateException("test");
			}
		}

	}

}
