package io.github.fencedleadership.election;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;

import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import io.github.fencedleadership.election.RoleStatus.State;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.membership.InMemoryNodeRegistry;
import io.github.fencedleadership.membership.Node;
import io.github.fencedleadership.membership.NodeRegistry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link DefaultLeaderElector}, with real threads.
 */
@Timeout(120)
class DefaultLeaderElectorTests {

	private static final RoleSettings LONG = RoleSettings.of(Duration.ofSeconds(60), Duration.ofSeconds(20),
			Duration.ofMillis(20), null, null);

	private static final RoleSettings SHORT = RoleSettings.of(Duration.ofSeconds(2), Duration.ofMillis(100),
			Duration.ofMillis(20), null, null);

	private final TestStore store = new TestStore();

	private final List<DefaultLeaderElector> electors = new ArrayList<>();

	private final List<String> listened = new CopyOnWriteArrayList<>();

	@AfterEach
	void close() {
		this.store.heal();
		this.electors.forEach(DefaultLeaderElector::close);
	}

	@Test
	void runsWorkOnceTheRoleIsAcquired() {
		Work work = new Work();
		DefaultLeaderElector elector = started(builder("a"));
		elector.register(LeaderTask.of("reports", work));
		eventually().untilAsserted(() -> assertThat(work.tokens).containsExactly(1L));
		assertThat(elector.status("reports")).hasValueSatisfying((status) -> {
			assertThat(status.state()).isEqualTo(State.LEADING);
			assertThat(status.fencingToken()).isEqualTo(new FencingToken("reports", 1));
			assertThat(status.remaining()).isPositive().isLessThanOrEqualTo(Duration.ofSeconds(54));
		});
		assertThat(elector.ownerId()).startsWith("a#");
	}

	@Test
	void onlyOneOfTwoNodesLeads() {
		Work first = new Work();
		Work second = new Work();
		DefaultLeaderElector a = started(builder("a"));
		a.register(LeaderTask.of("reports", first));
		eventually().until(() -> !first.tokens.isEmpty());
		DefaultLeaderElector b = started(builder("b"));
		b.register(LeaderTask.of("reports", second));
		eventually().until(() -> this.store.refusals.get() >= 3);
		assertThat(second.tokens).isEmpty();
		assertThat(b.status("reports"))
			.hasValueSatisfying((status) -> assertThat(status.state()).isEqualTo(State.STANDBY));
	}

	@Test
	void stopHandsOverAfterTheWorkHasEnded() {
		Work first = new Work();
		Work second = new Work();
		DefaultLeaderElector a = started(builder("a"));
		a.register(LeaderTask.of("reports", first));
		eventually().until(() -> !first.tokens.isEmpty());
		DefaultLeaderElector b = started(builder("b"));
		b.register(LeaderTask.of("reports", second));
		this.store.log.clear();
		first.onEnd = () -> this.store.log.add("drained");
		a.stop();
		assertThat(this.store.log.indexOf("drained")).isNotNegative()
			.isLessThan(this.store.log.indexOf("release reports " + a.ownerId()));
		eventually().untilAsserted(() -> assertThat(second.tokens).containsExactly(2L));
		assertThat(first.tokens).containsExactly(1L);
	}

	@Test
	void nothingIsRenewedAfterAStopAndTheNodeLeavesLast() {
		NodeRegistry registry = new InMemoryNodeRegistry(InstantSource.system(), Duration.ofHours(1));
		DefaultLeaderElector a = started(builder("a").nodeRegistry(new NodeRegistry() {

			@Override
			public void heartbeat(Node node) {
				registry.heartbeat(node);
			}

			@Override
			public List<Node> liveNodes() {
				return registry.liveNodes();
			}

			@Override
			public void deregister(String nodeId) {
				DefaultLeaderElectorTests.this.store.log.add("deregister " + nodeId);
				registry.deregister(nodeId);
			}

		}));
		Work work = new Work();
		a.register(LeaderTask.of("reports", work));
		eventually().until(() -> !work.tokens.isEmpty());
		eventually().untilAsserted(() -> assertThat(registry.liveNodes()).singleElement()
			.satisfies((node) -> assertThat(node.id()).isEqualTo(a.ownerId())));
		a.stop();
		assertThat(registry.liveNodes()).isEmpty();
		assertThat(this.store.log).endsWith("release reports " + a.ownerId(), "deregister " + a.ownerId());
	}

	@Test
	void startsAgainAsANewIncarnationAndANewTerm() {
		Work work = new Work();
		DefaultLeaderElector elector = started(builder("a"));
		elector.register(LeaderTask.of("reports", work));
		eventually().until(() -> work.tokens.size() == 1);
		String first = elector.ownerId();
		elector.stop();
		assertThat(elector.isRunning()).isFalse();
		assertThat(elector.status("reports"))
			.hasValueSatisfying((status) -> assertThat(status.state()).isEqualTo(State.STOPPED));
		elector.start();
		assertThat(elector.ownerId()).isNotEqualTo(first).startsWith("a#");
		elector.contend();
		eventually().untilAsserted(() -> assertThat(work.tokens).containsExactly(1L, 2L));
	}

	@Test
	void doesNotContendBeforeItIsTold() {
		DefaultLeaderElector elector = builder("a").build();
		this.electors.add(elector);
		elector.register(LeaderTask.of("reports", new Work()));
		assertThatIllegalStateException().isThrownBy(elector::contend).withMessageContaining("'a'");
		assertThatIllegalStateException().isThrownBy(elector::ownerId);
		elector.start();
		elector.start();
		assertThat(this.store.requests.get()).isZero();
		assertThat(elector.status("reports"))
			.hasValueSatisfying((status) -> assertThat(status.state()).isEqualTo(State.STOPPED));
	}

	@Test
	void drainReleasesEachRoleAsSoonAsItsOwnWorkHasEnded() {
		CountDownLatch slowMayEnd = new CountDownLatch(1);
		Work quick = new Work();
		Work slow = new Work();
		slow.onEnd = () -> awaitUninterruptibly(slowMayEnd);
		DefaultLeaderElector elector = started(builder("a"));
		elector.register(LeaderTask.of("quick", quick));
		elector.register(LeaderTask.of("slow", slow));
		eventually().until(() -> quick.tokens.size() == 1 && slow.tokens.size() == 1);
		CountDownLatch drained = new CountDownLatch(1);
		elector.drain(drained::countDown);
		eventually().until(() -> !isLive("quick"));
		assertThat(isLive("slow")).isTrue();
		assertThat(drained.getCount()).isOne();
		assertThat(elector.status("slow"))
			.hasValueSatisfying((status) -> assertThat(status.state()).isEqualTo(State.DRAINING));
		slowMayEnd.countDown();
		eventually().until(() -> drained.getCount() == 0);
		assertThat(isLive("slow")).isFalse();
	}

	@Test
	void workThatWillNotEndIsLeftBehindWithItsLease() {
		CountDownLatch mayEnd = new CountDownLatch(1);
		Work work = new Work();
		work.onEnd = () -> awaitUninterruptibly(mayEnd);
		DefaultLeaderElector elector = started(builder("a").drainTimeout(Duration.ofMillis(50)));
		elector.register(LeaderTask.of("reports", work));
		eventually().until(() -> work.tokens.size() == 1);
		elector.stop();
		assertThat(isLive("reports")).isTrue();
		assertThat(this.store.log).noneMatch((entry) -> entry.startsWith("release"));
		// Not even a new start begins before the old work has ended.
		elector.start();
		elector.contend();
		assertThat(elector.status("reports"))
			.hasValueSatisfying((status) -> assertThat(status.state()).isEqualTo(State.DRAINING));
		assertThat(work.running.get()).isOne();
		mayEnd.countDown();
		eventually().until(() -> work.tokens.size() == 2);
		assertThat(work.overlapped.get()).isFalse();
	}

	@Test
	void workIsToldAtTheDeadlineAlthoughTheStoreHangs() {
		Work work = new Work();
		DefaultLeaderElector elector = started(builder("a").settings(SHORT).listener(new RecordingListener()));
		elector.register(LeaderTask.of("reports", work));
		eventually().until(() -> work.tokens.size() == 1);
		this.store.hang();
		eventually().until(() -> work.ends.get() == 1);
		assertThat(work.heldAtEnd.get()).isFalse();
		assertThat(elector.status("reports"))
			.hasValueSatisfying((status) -> assertThat(status.state()).isNotEqualTo(State.LEADING));
		eventually().untilAsserted(() -> assertThat(this.listened).containsExactly("granted reports#1",
				"revoked reports#1 DEADLINE_PASSED"));
		this.store.heal();
		eventually().until(() -> work.tokens.size() == 2);
		assertThat(work.tokens).containsExactly(1L, 2L);
	}

	@Test
	void outlivesAStoreThatThrowsAndDoesNotHammerIt() {
		Work work = new Work();
		DefaultLeaderElector elector = started(builder("a").settings(SHORT));
		elector.register(LeaderTask.of("reports", work));
		eventually().until(() -> work.tokens.size() == 1);
		int before = this.store.requests.get();
		long start = System.nanoTime();
		this.store.fail(new OutOfMemoryError("test"));
		eventually().until(() -> work.ends.get() == 1);
		long elapsed = Duration.ofNanos(System.nanoTime() - start).toMillis();
		assertThat(this.store.requests.get() - before).isLessThanOrEqualTo((int) (elapsed / 10) + 2);
		this.store.heal();
		eventually().until(() -> work.tokens.size() == 2);
	}

	@Test
	void aRefusedRenewalEndsTheTerm() {
		Work work = new Work();
		DefaultLeaderElector elector = started(builder("a")
			.settings(RoleSettings.of(Duration.ofSeconds(60), Duration.ofMillis(50), Duration.ofMillis(20), null, null))
			.listener(new RecordingListener()));
		elector.register(LeaderTask.of("reports", work));
		eventually().until(() -> work.tokens.size() == 1);
		this.store.delegate.release("reports", elector.ownerId(), 1);
		eventually().until(() -> work.tokens.size() == 2);
		eventually().untilAsserted(() -> assertThat(this.listened).containsExactly("granted reports#1",
				"revoked reports#1 LEASE_LOST", "granted reports#2"));
	}

	@Test
	void failedWorkEndsTheTermAndAnotherNodeTakesOver() {
		Work healthy = new Work();
		AtomicInteger attempts = new AtomicInteger();
		DefaultLeaderElector a = started(builder("a").listener(new RecordingListener()));
		a.register(LeaderTask.of("reports", (leadership) -> {
			attempts.incrementAndGet();
			eventually().until(() -> this.electors.size() == 2);
			throw new IllegalStateException("test");
		}));
		eventually().until(() -> attempts.get() == 1);
		DefaultLeaderElector b = started(builder("b"));
		b.register(LeaderTask.of("reports", healthy));
		eventually().until(() -> !healthy.tokens.isEmpty());
		assertThat(this.listened).startsWith("granted reports#1", "revoked reports#1 WORK_FAILED");
	}

	@Test
	void aStepDownHandsOver() {
		Work first = new Work();
		Work second = new Work();
		DefaultLeaderElector a = started(builder("a"));
		a.register(LeaderTask.of("reports", first));
		eventually().until(() -> !first.tokens.isEmpty());
		DefaultLeaderElector b = started(builder("b"));
		b.register(LeaderTask.of("reports", second));
		eventually().until(() -> this.store.refusals.get() >= 1);
		assertThat(b.stepDown("reports")).isFalse();
		assertThat(a.stepDown("reports")).isTrue();
		assertThat(a.stepDown("reports")).isFalse();
		eventually().until(() -> first.ends.get() == 1);
		eventually().until(() -> first.tokens.size() + second.tokens.size() == 2);
	}

	@Test
	void returningNormallyKeepsTheTerm() {
		AtomicInteger runs = new AtomicInteger();
		DefaultLeaderElector elector = started(builder("a").settings(
				RoleSettings.of(Duration.ofSeconds(60), Duration.ofMillis(50), Duration.ofMillis(20), null, null)));
		elector.register(LeaderTask.of("reports", (leadership) -> runs.incrementAndGet()));
		eventually().until(() -> runs.get() == 1);
		int renewals = this.store.renewals.get();
		eventually().until(() -> this.store.renewals.get() > renewals + 2);
		assertThat(runs).hasValue(1);
		assertThat(elector.status("reports"))
			.hasValueSatisfying((status) -> assertThat(status.state()).isEqualTo(State.LEADING));
	}

	@Test
	void tasksOfARoleShareItsTerm() {
		Work first = new Work();
		Work second = new Work();
		DefaultLeaderElector elector = started(builder("a"));
		LeaderElector.Registration firstRegistration = elector.register(LeaderTask.of("reports", first));
		eventually().until(() -> first.tokens.size() == 1);
		LeaderElector.Registration secondRegistration = elector.register(LeaderTask.of("reports", second));
		eventually().until(() -> second.tokens.size() == 1);
		assertThat(second.tokens).containsExactly(1L);
		firstRegistration.close();
		firstRegistration.close();
		assertThat(first.ends).hasValue(1);
		assertThat(second.ends).hasValue(0);
		assertThat(isLive("reports")).isTrue();
		secondRegistration.close();
		assertThat(isLive("reports")).isFalse();
		assertThat(elector.statuses()).isEmpty();
	}

	@Test
	void refusesContradictorySettingsOfARole() {
		DefaultLeaderElector elector = started(builder("a"));
		elector.register(new LeaderTask("reports", "first", LONG, null));
		assertThatIllegalArgumentException()
			.isThrownBy(() -> elector.register(new LeaderTask("reports", "second", SHORT, null)))
			.withMessageContaining("'reports'")
			.withMessageContaining("'second'");
	}

	@Test
	void aThreadCanEnterTheTermOnlyWhileTheNodeLeads() {
		DefaultLeaderElector elector = started(builder("a"));
		assertThat(elector.enter("reports")).isEmpty();
		elector.register(LeaderTask.holding("reports"));
		eventually().until(() -> isLeading(elector, "reports"));
		assertThat(Leadership.current()).isEmpty();
		try (LeaderElector.Scope scope = elector.enter("reports").orElseThrow()) {
			assertThat(Leadership.current()).containsSame(scope.leadership());
			assertThat(Leadership.current("reports")).containsSame(scope.leadership());
			assertThat(Leadership.current("other")).isEmpty();
			assertThat(scope.leadership().fencingToken()).isEqualTo(new FencingToken("reports", 1));
			try (LeaderElector.Scope nested = elector.enter("reports").orElseThrow()) {
				assertThat(nested.leadership()).isSameAs(scope.leadership());
			}
			assertThat(Leadership.current()).containsSame(scope.leadership());
		}
		assertThat(Leadership.current()).isEmpty();
		assertThat(elector.enter("unknown")).isEmpty();
	}

	@Test
	void aThreadThatHasEnteredIsDrainedAndLeavesWithoutItsInterrupt() {
		DefaultLeaderElector elector = started(builder("a"));
		elector.register(LeaderTask.holding("reports"));
		eventually().until(() -> isLeading(elector, "reports"));
		Thread stopper = new Thread(elector::stop);
		try (LeaderElector.Scope scope = elector.enter("reports").orElseThrow()) {
			stopper.start();
			// Not with a wait, which would take the interrupt.
			while (!Thread.currentThread().isInterrupted()) {
				Thread.onSpinWait();
			}
			assertThat(scope.leadership().isHeld()).isFalse();
			assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(scope.leadership()::requireHeld);
			assertThat(elector.enter("reports")).isEmpty();
			assertThat(isLive("reports")).isTrue();
		}
		assertThat(Thread.currentThread().isInterrupted()).isFalse();
		eventually().until(() -> !stopper.isAlive());
		assertThat(isLive("reports")).isFalse();
	}

	@Test
	void anInterruptOfSomebodyElseIsKept() {
		DefaultLeaderElector elector = started(builder("a"));
		elector.register(LeaderTask.holding("reports"));
		eventually().until(() -> isLeading(elector, "reports"));
		try (LeaderElector.Scope scope = elector.enter("reports").orElseThrow()) {
			assertThat(scope.leadership().isHeld()).isTrue();
			Thread.currentThread().interrupt();
		}
		assertThat(Thread.interrupted()).isTrue();
	}

	@Test
	void awaitWakesUpWhenTheTermEnds() {
		AtomicReference<Object> outcome = new AtomicReference<>();
		CountDownLatch waiting = new CountDownLatch(1);
		DefaultLeaderElector elector = started(builder("a"));
		elector.register(LeaderTask.of("reports", (leadership) -> {
			waiting.countDown();
			outcome.set(leadership.await(Duration.ofSeconds(Long.MAX_VALUE)));
		}));
		eventually().until(() -> waiting.getCount() == 0);
		elector.stop();
		assertThat(outcome).hasValue(false);
	}

	@Test
	void awaitReturnsTrueWhileHeld() throws Exception {
		DefaultLeaderElector elector = started(builder("a"));
		elector.register(LeaderTask.holding("reports"));
		eventually().until(() -> isLeading(elector, "reports"));
		try (LeaderElector.Scope scope = elector.enter("reports").orElseThrow()) {
			assertThat(scope.leadership().await(Duration.ofMillis(1))).isTrue();
			assertThat(scope.leadership().await(Duration.ofMillis(-1))).isTrue();
			assertThat(scope.leadership().remaining()).isPositive();
		}
	}

	@Test
	void runBlocksUntilInterruptedThenDrainsAndReleases() throws Exception {
		Work work = new Work();
		DefaultLeaderElector elector = started(builder("a"));
		AtomicReference<Throwable> thrown = new AtomicReference<>();
		Thread caller = new Thread(() -> {
			try {
				elector.run("reports", work);
			}
			catch (Throwable ex) {
				thrown.set(ex);
			}
		});
		caller.start();
		eventually().until(() -> work.tokens.size() == 1);
		assertThat(caller.isAlive()).isTrue();
		caller.interrupt();
		caller.join(TimeUnit.SECONDS.toMillis(60));
		assertThat(thrown.get()).isInstanceOf(InterruptedException.class);
		assertThat(work.ends).hasValue(1);
		assertThat(isLive("reports")).isFalse();
		assertThat(elector.statuses()).isEmpty();
	}

	@Test
	void runReturnsWhenTheElectorIsClosed() throws Exception {
		Work work = new Work();
		DefaultLeaderElector elector = started(builder("a"));
		AtomicReference<Throwable> thrown = new AtomicReference<>();
		Thread caller = new Thread(() -> {
			try {
				elector.run("reports", work);
			}
			catch (Throwable ex) {
				thrown.set(ex);
			}
		});
		caller.start();
		eventually().until(() -> work.tokens.size() == 1);
		elector.close();
		caller.join(TimeUnit.SECONDS.toMillis(60));
		assertThat(caller.isAlive()).isFalse();
		assertThat(thrown).hasValue(null);
		assertThat(work.ends).hasValue(1);
		assertThatIllegalStateException().isThrownBy(elector::start);
	}

	@Test
	void listenersThatThrowOrBlockHoldNothingUp() {
		CountDownLatch mayEnd = new CountDownLatch(1);
		Work work = new Work();
		DefaultLeaderElector elector = started(builder("a").settings(SHORT).listener(new LeadershipListener() {

			@Override
			public void granted(FencingToken token) {
				throw new AssertionError("test");
			}

		}).listener(new RecordingListener() {

			@Override
			public void granted(FencingToken token) {
				awaitUninterruptibly(mayEnd);
				super.granted(token);
			}

		}));
		elector.register(LeaderTask.of("reports", work));
		eventually().until(() -> work.tokens.size() == 1);
		int renewals = this.store.renewals.get();
		eventually().until(() -> this.store.renewals.get() > renewals + 2);
		this.store.hang();
		eventually().until(() -> work.ends.get() == 1);
		assertThat(this.listened).isEmpty();
		mayEnd.countDown();
		eventually().untilAsserted(
				() -> assertThat(this.listened).startsWith("granted reports#1", "revoked reports#1 DEADLINE_PASSED"));
	}

	@Test
	void aStopWaitsUntilTheListenersHaveBeenTold() {
		CountDownLatch told = new CountDownLatch(1);
		CountDownLatch mayEnd = new CountDownLatch(1);
		DefaultLeaderElector elector = started(builder("a").listener(new RecordingListener() {

			@Override
			public void revoked(FencingToken token, RevocationReason reason) {
				told.countDown();
				awaitUninterruptibly(mayEnd);
				super.revoked(token, reason);
			}

		}));
		elector.register(LeaderTask.holding("reports"));
		eventually().until(() -> isLeading(elector, "reports"));
		List<String> listenedAtTheEnd = new CopyOnWriteArrayList<>();
		Thread stop = new Thread(() -> {
			elector.stop();
			listenedAtTheEnd.addAll(this.listened);
		});
		stop.start();
		eventually().until(() -> told.getCount() == 0);
		eventually().until(() -> !elector.isRunning());
		// A stop does not hurry because of that.
		stop.interrupt();
		mayEnd.countDown();
		eventually().until(() -> !stop.isAlive());
		assertThat(listenedAtTheEnd).containsExactly("granted reports#1", "revoked reports#1 STOPPED");
	}

	@Test
	void aStopLeavesAListenerBehindThatDoesNotReturn() {
		CountDownLatch never = new CountDownLatch(1);
		DefaultLeaderElector elector = started(
				builder("a").drainTimeout(Duration.ofMillis(100)).listener(new RecordingListener() {

					@Override
					public void granted(FencingToken token) {
						awaitUninterruptibly(never);
					}

				}));
		elector.register(LeaderTask.holding("reports"));
		eventually().until(() -> isLeading(elector, "reports"));
		elector.stop();
		assertThat(elector.isRunning()).isFalse();
		assertThat(this.listened).isEmpty();
		never.countDown();
	}

	@Test
	void aListenerMayStopTheElector() {
		DefaultLeaderElector[] elector = new DefaultLeaderElector[1];
		elector[0] = started(builder("a").drainTimeout(Duration.ofMinutes(10)).listener(new RecordingListener() {

			@Override
			public void granted(FencingToken token) {
				super.granted(token);
				elector[0].stop();
				DefaultLeaderElectorTests.this.listened.add("stopped");
			}

		}));
		elector[0].register(LeaderTask.holding("reports"));
		eventually().untilAsserted(() -> assertThat(this.listened).containsExactly("granted reports#1", "stopped",
				"revoked reports#1 STOPPED"));
	}

	@Test
	void stalledWorkLosesItsLeadershipAndIsTakenOver() {
		CountDownLatch stuck = new CountDownLatch(1);
		AtomicInteger runs = new AtomicInteger();
		Work healthy = new Work();
		RoleSettings settings = RoleSettings.of(Duration.ofSeconds(4), Duration.ofMillis(100), Duration.ofMillis(20),
				null, Duration.ofMillis(300));
		DefaultLeaderElector a = started(builder("a").settings(settings).listener(new RecordingListener()));
		a.register(LeaderTask.of("reports", (leadership) -> {
			runs.incrementAndGet();
			awaitUninterruptibly(stuck);
		}));
		eventually().until(() -> runs.get() == 1);
		DefaultLeaderElector b = started(builder("b").settings(settings));
		b.register(LeaderTask.of("reports", healthy));
		eventually().until(() -> healthy.tokens.size() == 1);
		assertThat(a.status("reports"))
			.hasValueSatisfying((status) -> assertThat(status.state()).isEqualTo(State.STALLED));
		assertThat(this.listened).containsExactly("granted reports#1", "revoked reports#1 STALLED");
		assertThat(runs).hasValue(1);
		stuck.countDown();
		eventually().until(() -> a.status("reports").orElseThrow().state() != State.STALLED);
	}

	@Test
	void twoElectorsOfOneNameAreTwoOwners() {
		DefaultLeaderElector a = started(builder("same"));
		DefaultLeaderElector b = started(builder("same"));
		a.register(LeaderTask.holding("reports"));
		eventually().until(() -> isLeading(a, "reports"));
		b.register(LeaderTask.holding("reports"));
		eventually().until(() -> this.store.refusals.get() >= 2);
		assertThat(isLeading(b, "reports")).isFalse();
		b.stop();
		assertThat(isLive("reports")).isTrue();
	}

	@Test
	void rejectsOwnerNamesThatCannotBeTold() {
		assertThatIllegalArgumentException().isThrownBy(() -> builder("a#b")).withMessageContaining("'a#b'");
		assertThatIllegalArgumentException().isThrownBy(() -> builder("x".repeat(200)));
		assertThatIllegalArgumentException().isThrownBy(() -> builder("a\nb"));
	}

	@Test
	void settingsDoNotChangeUnderATermThatWasGrantedWithOthers() {
		DefaultLeaderElector elector = started(builder("a"));
		elector.register(LeaderTask.holding("reports"));
		eventually().until(() -> isLeading(elector, "reports"));
		// A renewal with a shorter TTL would shorten the lease, but not the belief.
		assertThatIllegalArgumentException()
			.isThrownBy(() -> elector.register(new LeaderTask("reports", "second", SHORT, null)))
			.withMessageContaining("'reports'")
			.withMessageContaining("'second'");
	}

	@Test
	void anAnswerThatMakesNoSenseCostsItsOwnRoleOnly() {
		Work sane = new Work();
		DefaultLeaderElector elector = builder("a").build();
		this.electors.add(elector);
		elector.register(LeaderTask.of("a-sane", sane));
		elector.register(LeaderTask.holding("b-odd"));
		elector.register(LeaderTask.holding("c-missing"));
		this.store.distortion = (results) -> results.stream()
			.filter((result) -> !result.role().equals("c-missing"))
			.map((result) -> result.role().equals("b-odd") ? refused("b-odd", Duration.ofSeconds(Long.MAX_VALUE))
					: result)
			.toList();
		elector.start();
		elector.contend();
		eventually().until(() -> sane.tokens.size() == 1);
		this.store.distortion = UnaryOperator.identity();
		eventually().until(() -> isLeading(elector, "b-odd") && isLeading(elector, "c-missing"));
		assertThat(sane.ends).hasValue(0);
	}

	@Test
	void outlivesAStoreWhoseFailureCannotEvenBeLogged() {
		Work work = new Work();
		DefaultLeaderElector elector = started(builder("a").settings(SHORT));
		elector.register(LeaderTask.of("reports", work));
		eventually().until(() -> work.tokens.size() == 1);
		this.store.fail(new UnprintableException());
		eventually().until(() -> work.ends.get() == 1);
		this.store.heal();
		eventually().until(() -> work.tokens.size() == 2);
	}

	@Test
	void outlivesWorkWhoseFailureCannotEvenBeLogged() {
		AtomicInteger runs = new AtomicInteger();
		DefaultLeaderElector elector = started(builder("a"));
		elector.register(LeaderTask.of("reports", (leadership) -> {
			if (runs.incrementAndGet() == 1) {
				throw new UnprintableException();
			}
		}));
		eventually().until(() -> runs.get() == 2);
	}

	private static LeaseResult refused(String role, Duration remaining) {
		return new LeaseResult(role, LeaseResult.Outcome.REFUSED, 1, "other", null, remaining);
	}

	@Test
	void workThatEndsItsOwnInterestDoesNotWaitForItself() {
		CountDownLatch registered = new CountDownLatch(1);
		AtomicReference<LeaderElector.Registration> registration = new AtomicReference<>();
		DefaultLeaderElector elector = started(builder("a").drainTimeout(Duration.ofSeconds(60)));
		registration.set(elector.register(LeaderTask.of("reports", (leadership) -> {
			awaitUninterruptibly(registered);
			registration.get().close();
		})));
		registered.countDown();
		eventually().until(() -> elector.statuses().isEmpty());
		assertThat(isLive("reports")).isFalse();
	}

	@Test
	@Timeout(60)
	void aThreadThatHasEnteredAndEndsTheLastInterestDoesNotWaitForItself() {
		DefaultLeaderElector elector = started(builder("a").drainTimeout(Duration.ofSeconds(60)));
		LeaderElector.Registration registration = elector.register(LeaderTask.holding("reports"));
		eventually().until(() -> isLeading(elector, "reports"));
		try (LeaderElector.Scope scope = elector.enter("reports").orElseThrow()) {
			registration.close();
			assertThat(scope.leadership().isHeld()).isFalse();
			assertThat(isLive("reports")).isTrue();
		}
		eventually().until(() -> elector.statuses().isEmpty());
		assertThat(isLive("reports")).isFalse();
	}

	@Test
	void workThatOnlyLooksAtItsLeadershipEndsWithItsInterest() {
		CountDownLatch looking = new CountDownLatch(1);
		AtomicBoolean ended = new AtomicBoolean();
		DefaultLeaderElector elector = started(builder("a").drainTimeout(Duration.ofSeconds(60)));
		elector.register(LeaderTask.holding("reports"));
		LeaderElector.Registration registration = elector.register(LeaderTask.of("reports", (leadership) -> {
			while (leadership.isHeld()) {
				looking.countDown();
				Thread.onSpinWait();
			}
			ended.set(leadership.remaining().isZero() && !leadership.await(Duration.ofMinutes(1)));
		}));
		eventually().until(() -> looking.getCount() == 0);
		registration.close();
		assertThat(ended).isTrue();
		assertThat(isLeading(elector, "reports")).isTrue();
	}

	@Test
	void aStopAfterADrainDoesNotWaitForTheSameWorkAgain() {
		CountDownLatch mayEnd = new CountDownLatch(1);
		Work work = new Work();
		work.onEnd = () -> awaitUninterruptibly(mayEnd);
		DefaultLeaderElector elector = started(builder("a").drainTimeout(Duration.ofSeconds(4)));
		elector.register(LeaderTask.of("reports", work));
		eventually().until(() -> work.tokens.size() == 1);
		CountDownLatch drained = new CountDownLatch(1);
		elector.drain(drained::countDown);
		eventually().until(() -> drained.getCount() == 0);
		long start = System.nanoTime();
		elector.stop();
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(3));
		assertThat(isLive("reports")).isTrue();
		mayEnd.countDown();
		eventually().untilAsserted(() -> assertThat(elector.status("reports"))
			.hasValueSatisfying((status) -> assertThat(status.state()).isEqualTo(State.STOPPED)));
	}

	@Test
	void workDoesNotEvenBeginIfTheMachineWasSuspendedDuringTheGrant() {
		AtomicLong suspended = new AtomicLong();
		ElectionClock clock = ElectionClock.system();
		this.store.distortion = (results) -> {
			suspended.compareAndSet(0, Duration.ofHours(1).toMillis());
			return results;
		};
		Work work = new Work();
		DefaultLeaderElector elector = started(
				builder("a").listener(new RecordingListener()).clock(new ElectionClock() {

					@Override
					public long nanos() {
						return clock.nanos();
					}

					@Override
					public long wallMillis() {
						return clock.wallMillis() + suspended.get();
					}

				}));
		elector.register(LeaderTask.of("reports", work));
		eventually().until(() -> !work.tokens.isEmpty());
		assertThat(work.tokens).containsExactly(2L);
		eventually().untilAsserted(() -> assertThat(this.listened).containsExactly("granted reports#1",
				"revoked reports#1 CLOCK_JUMPED", "granted reports#2"));
	}

	@Test
	void aListenerThatCannotEvenBeNamedDoesNotSilenceTheOthers() {
		DefaultLeaderElector elector = started(builder("a").listener(new LeadershipListener() {

			@Override
			public void granted(FencingToken token) {
				throw new AssertionError("test");
			}

			@Override
			public String toString() {
				throw new AssertionError("test");
			}

		}).listener(new RecordingListener()));
		elector.register(LeaderTask.holding("reports"));
		eventually().untilAsserted(() -> assertThat(this.listened).containsExactly("granted reports#1"));
	}

	@Test
	void scopesThatAreClosedInAnyOrderLeaveNothingBehind() {
		DefaultLeaderElector elector = started(builder("a"));
		elector.register(LeaderTask.holding("first"));
		elector.register(LeaderTask.holding("second"));
		eventually().until(() -> isLeading(elector, "first") && isLeading(elector, "second"));
		LeaderElector.Scope first = elector.enter("first").orElseThrow();
		LeaderElector.Scope second = elector.enter("second").orElseThrow();
		first.close();
		assertThat(Leadership.current("first")).isEmpty();
		assertThat(Leadership.current()).containsSame(second.leadership());
		second.close();
		assertThat(Leadership.current()).isEmpty();
	}

	@Test
	void rejectsTimesThatCannotBeCounted() {
		assertThatIllegalArgumentException().isThrownBy(() -> builder("a").heartbeatInterval(Duration.ZERO));
		assertThatIllegalArgumentException().isThrownBy(() -> builder("a").drainTimeout(Duration.ofNanos(-1)));
		assertThatIllegalArgumentException()
			.isThrownBy(() -> builder("a").drainTimeout(Duration.ofSeconds(Long.MAX_VALUE)));
		assertThatIllegalArgumentException()
			.isThrownBy(() -> RoleSettings.of(null, null, null, null, Duration.ofSeconds(Long.MAX_VALUE)))
			.withMessageContaining("stall timeout");
	}

	private DefaultLeaderElector.Builder builder(String name) {
		return DefaultLeaderElector.builder(this.store).ownerName(name).settings(LONG);
	}

	private DefaultLeaderElector started(DefaultLeaderElector.Builder builder) {
		DefaultLeaderElector elector = builder.build();
		elector.start();
		elector.contend();
		this.electors.add(elector);
		return elector;
	}

	private boolean isLive(String role) {
		return this.store.delegate.find(role).map(Lease::isLive).orElse(false);
	}

	private static boolean isLeading(LeaderElector elector, String role) {
		return elector.status(role).map((status) -> status.state() == State.LEADING).orElse(false);
	}

	private static ConditionFactory eventually() {
		return Awaitility.await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(5));
	}

	private static void awaitUninterruptibly(CountDownLatch latch) {
		boolean done = false;
		while (!done) {
			try {
				done = latch.await(60, TimeUnit.SECONDS);
			}
			catch (InterruptedException ex) {
				// Ignores interrupts, which is what is tested.
			}
		}
	}

	private static final class Work implements LeaderWork {

		private final List<Long> tokens = new CopyOnWriteArrayList<>();

		private final AtomicInteger ends = new AtomicInteger();

		private final AtomicInteger running = new AtomicInteger();

		private final AtomicBoolean overlapped = new AtomicBoolean();

		private final AtomicBoolean heldAtEnd = new AtomicBoolean();

		private volatile Runnable onEnd = () -> {
		};

		@Override
		public void lead(Leadership leadership) throws Exception {
			if (this.running.incrementAndGet() > 1) {
				this.overlapped.set(true);
			}
			this.tokens.add(leadership.fencingToken().value());
			try {
				while (leadership.await(Duration.ofSeconds(1))) {
					leadership.progress();
				}
			}
			finally {
				this.heldAtEnd.set(leadership.isHeld());
				this.onEnd.run();
				this.running.decrementAndGet();
				this.ends.incrementAndGet();
			}
		}

	}

	private class RecordingListener implements LeadershipListener {

		@Override
		public void granted(FencingToken token) {
			DefaultLeaderElectorTests.this.listened.add("granted " + token);
		}

		@Override
		public void revoked(FencingToken token, RevocationReason reason) {
			DefaultLeaderElectorTests.this.listened.add("revoked " + token + " " + reason);
		}

	}

	private static final class UnprintableException extends RuntimeException {

		@Override
		public String getMessage() {
			throw new AssertionError("test");
		}

	}

	private static final class TestStore implements LeaseStore {

		private final Instant origin = Instant.parse("2026-01-01T00:00:00Z");

		private final long originNanos = System.nanoTime();

		private final InMemoryLeaseStore delegate = new InMemoryLeaseStore(
				() -> this.origin.plusNanos(System.nanoTime() - this.originNanos));

		private final AtomicInteger requests = new AtomicInteger();

		private final AtomicInteger refusals = new AtomicInteger();

		private final AtomicInteger renewals = new AtomicInteger();

		private final List<String> log = Collections.synchronizedList(new ArrayList<>());

		private volatile CountDownLatch hung = new CountDownLatch(0);

		private volatile Throwable failure;

		private volatile UnaryOperator<List<LeaseResult>> distortion = UnaryOperator.identity();

		void hang() {
			this.hung = new CountDownLatch(1);
		}

		void fail(Throwable failure) {
			this.failure = failure;
		}

		void heal() {
			this.failure = null;
			this.hung.countDown();
		}

		@Override
		public List<LeaseResult> tryAcquireOrRenew(String ownerId, Collection<LeaseRequest> leaseRequests) {
			this.requests.incrementAndGet();
			awaitUninterruptibly(this.hung);
			sneakyThrow(this.failure);
			List<LeaseResult> results = this.delegate.tryAcquireOrRenew(ownerId, leaseRequests);
			results.forEach((result) -> {
				switch (result.outcome()) {
					case REFUSED -> this.refusals.incrementAndGet();
					case RENEWED -> this.renewals.incrementAndGet();
					default -> {
					}
				}
			});
			this.log.add("request");
			return this.distortion.apply(results);
		}

		@Override
		public boolean release(String role, String ownerId, long fencingToken) {
			this.log.add("release " + role + " " + ownerId);
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

		@SuppressWarnings("unchecked")
		private static <T extends Throwable> void sneakyThrow(Throwable ex) throws T {
			if (ex != null) {
				throw (T) ex;
			}
		}

	}

}
