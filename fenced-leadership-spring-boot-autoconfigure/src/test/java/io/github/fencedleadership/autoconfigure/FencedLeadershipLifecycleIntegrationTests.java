package io.github.fencedleadership.autoconfigure;

import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.test.util.AopTestUtils;

import io.github.fencedleadership.annotation.FencedLeader;
import io.github.fencedleadership.annotation.FencedLeader.Mode;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.election.RoleStatus.State;
import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.membership.InMemoryNodeRegistry;
import io.github.fencedleadership.membership.Node;
import io.github.fencedleadership.membership.NodeRegistry;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of whole applications that elect among themselves in one process.
 */
class FencedLeadershipLifecycleIntegrationTests {

	private static final Duration PATIENCE = Duration.ofSeconds(60);

	private final List<String> events = new CopyOnWriteArrayList<>();

	private final RecordingStore store = new RecordingStore(this.events);

	private final RecordingRegistry registry = new RecordingRegistry(this.events);

	@Test
	void gracefulStopDrainsThenReleasesThenDeregistersAndRenewsNothingAfterwards() {
		ConfigurableApplicationContext context = start("node-a", LoopingWorker.class);
		LoopingWorker worker = target(context, LoopingWorker.class);
		await(() -> worker.terms.size() == 1);
		await(() -> this.events.stream().filter("renewed reports"::equals).count() >= 2);
		context.close();
		assertThat(worker.ended).isOne();
		List<String> order = this.events.stream().filter((event) -> !event.startsWith("renewed")).toList();
		assertThat(order).containsSubsequence("granted reports", "work ended", "released reports", "deregistered");
		assertThat(this.events).endsWith("deregistered");
		int released = this.events.indexOf("released reports");
		assertThat(this.events.subList(released, this.events.size())).doesNotContain("renewed reports")
			.doesNotContain("granted reports");
		assertThat(this.store.find("reports")).hasValueSatisfying((lease) -> assertThat(lease.isLive()).isFalse());
		assertThat(this.registry.liveNodes()).isEmpty();
	}

	@Test
	void leaseIsRenewedWhileItsWorkIsDrained() throws Exception {
		ConfigurableApplicationContext context = start("node-a", StubbornWorker.class);
		StubbornWorker worker = target(context, StubbornWorker.class);
		await(() -> worker.started);
		Thread closing = new Thread(context::close);
		closing.start();
		await(() -> worker.told);
		int told = this.events.size();
		await(() -> this.events.subList(told, this.events.size()).contains("renewed reports"));
		assertThat(this.events).doesNotContain("released reports").doesNotContain("deregistered");
		worker.mayEnd.countDown();
		closing.join(PATIENCE.toMillis());
		assertThat(this.events).containsSubsequence("work ended", "released reports", "deregistered");
	}

	@Test
	void workThatWillNotEndIsLeftBehindWithItsLeaseAfterOneDrainTimeout() {
		ConfigurableApplicationContext context = start("node-a", StubbornWorker.class,
				"--fenced-leadership.shutdown.drain-timeout=5s");
		StubbornWorker worker = target(context, StubbornWorker.class);
		await(() -> worker.started);
		try {
			long start = System.nanoTime();
			context.close();
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(Duration.ofSeconds(5),
					Duration.ofSeconds(9));
			assertThat(worker.told).isTrue();
			assertThat(this.events).doesNotContain("released reports").endsWith("deregistered");
		}
		finally {
			worker.mayEnd.countDown();
		}
	}

	@Test
	void standbyTakesOverAtOnceWithAHigherTokenWhenTheLeaderIsStopped() {
		ConfigurableApplicationContext first = start("node-a", LoopingWorker.class);
		await(() -> target(first, LoopingWorker.class).terms.size() == 1);
		try (ConfigurableApplicationContext second = start("node-b", LoopingWorker.class)) {
			LoopingWorker successor = target(second, LoopingWorker.class);
			await(() -> this.registry.liveNodes().size() == 2);
			assertThat(successor.terms).isEmpty();
			first.close();
			await(() -> successor.terms.size() == 1);
			assertThat(successor.terms).containsExactly(2L);
		}
	}

	@Test
	void stoppedContextCanBeStartedAgainAsANewIncarnation() {
		try (ConfigurableApplicationContext context = start("node-a", LoopingWorker.class)) {
			LoopingWorker worker = target(context, LoopingWorker.class);
			LeaderElector elector = context.getBean(LeaderElector.class);
			await(() -> worker.terms.size() == 1);
			String firstOwner = elector.ownerId();
			context.stop();
			assertThat(worker.ended).isOne();
			assertThat(this.registry.liveNodes()).isEmpty();
			assertThat(elector.status("reports"))
				.hasValueSatisfying((status) -> assertThat(status.state()).isEqualTo(State.STOPPED));
			context.start();
			await(() -> worker.terms.size() == 2);
			assertThat(worker.terms).containsExactly(1L, 2L);
			assertThat(elector.ownerId()).startsWith("node-a#").isNotEqualTo(firstOwner);
			await(() -> this.registry.liveNodes().size() == 1);
		}
	}

	@Test
	void nodeIsNeitherVisibleNorContendingBeforeTheContextIsRefreshed() {
		try (ConfigurableApplicationContext context = start("node-a", LooksBeforeRefresh.class)) {
			await(() -> this.events.contains("granted reports"));
			assertThat(target(context, LooksBeforeRefresh.class).seen).isEmpty();
		}
	}

	@Test
	void failingWorkEndsItsTermAndBacksOff() {
		try (ConfigurableApplicationContext context = start("node-a", FailingWorker.class)) {
			LeaderElector elector = context.getBean(LeaderElector.class);
			await(() -> elector.status("reports").orElseThrow().state() == State.BACKING_OFF);
			assertThat(target(context, FailingWorker.class).calls).hasValueGreaterThanOrEqualTo(1);
			assertThat(this.events).contains("released reports");
		}
	}

	@Test
	void roleOfFailingWorkGoesToAHealthyNode() {
		try (ConfigurableApplicationContext failing = start("node-a", FailingWorker.class)) {
			await(() -> target(failing, FailingWorker.class).calls.get() >= 1);
			try (ConfigurableApplicationContext healthy = start("node-b", LoopingWorker.class)) {
				await(() -> !target(healthy, LoopingWorker.class).terms.isEmpty());
				LeaderElector elector = healthy.getBean(LeaderElector.class);
				assertThat(elector.status("reports").orElseThrow().state()).isEqualTo(State.LEADING);
			}
		}
	}

	@Test
	void scheduledGateRunsOnlyOnTheLeaderOfTwoContexts() {
		try (ConfigurableApplicationContext first = start("node-a", ScheduledWorker.class)) {
			ScheduledWorker leader = target(first, ScheduledWorker.class);
			await(() -> leader.tokens.size() >= 3);
			ScheduledWorker standby;
			try (ConfigurableApplicationContext second = start("node-b", ScheduledWorker.class)) {
				standby = target(second, ScheduledWorker.class);
				int before = leader.tokens.size();
				await(() -> leader.tokens.size() >= before + 10);
				assertThat(standby.tokens).isEmpty();
				first.close();
				await(() -> standby.tokens.size() >= 3);
			}
			assertThat(leader.tokens).containsOnly(1L);
			assertThat(standby.tokens).containsOnly(2L);
		}
	}

	@Test
	void gatedCallCountsAsWorkOfTheTermWhenTheContextStops() throws Exception {
		ConfigurableApplicationContext context = start("node-a", GatedWorker.class);
		GatedWorker worker = target(context, GatedWorker.class);
		GatedWorker gate = context.getBean(GatedWorker.class);
		LeaderElector elector = context.getBean(LeaderElector.class);
		await(() -> elector.status("reports").orElseThrow().state() == State.LEADING);
		Thread caller = new Thread(gate::work);
		caller.start();
		await(() -> worker.started);
		context.close();
		caller.join(PATIENCE.toMillis());
		assertThat(this.events).containsSubsequence("granted reports", "work ended", "released reports",
				"deregistered");
		assertThat(worker.interruptedAfterwards).isFalse();
	}

	@Test
	void disabledContextNeitherRunsNorIsVisible() {
		try (ConfigurableApplicationContext disabled = start("node-a", LoopingWorker.class,
				"--fenced-leadership.enabled=false");
				ConfigurableApplicationContext enabled = start("node-b", LoopingWorker.class)) {
			LoopingWorker worker = target(enabled, LoopingWorker.class);
			await(() -> worker.terms.size() == 1);
			await(() -> this.registry.liveNodes().size() == 1);
			assertThat(target(disabled, LoopingWorker.class).terms).isEmpty();
			assertThat(this.registry.liveNodes()).singleElement()
				.satisfies((node) -> assertThat(node.id()).startsWith("node-b#"));
		}
	}

	private ConfigurableApplicationContext start(String ownerId, Class<?> worker, String... arguments) {
		String[] common = { "--fenced-leadership.owner-id=" + ownerId, "--fenced-leadership.lease-ttl=3s",
				"--fenced-leadership.renew-interval=200ms", "--fenced-leadership.standby-poll-interval=50ms",
				"--spring.main.banner-mode=off" };
		return new SpringApplicationBuilder(Application.class, worker).web(WebApplicationType.NONE)
			.registerShutdownHook(false)
			.initializers((context) -> {
				context.getBeanFactory().registerSingleton("leaseStore", this.store);
				context.getBeanFactory().registerSingleton("nodeRegistry", this.registry);
				context.getBeanFactory().registerSingleton("events", new Events(this.events));
			})
			.run(Stream.of(common, arguments).flatMap(Arrays::stream).toArray(String[]::new));
	}

	/**
	 * The object behind the proxy, whose fields can be read.
	 */
	private static <T> T target(ConfigurableApplicationContext context, Class<T> type) {
		return AopTestUtils.getUltimateTargetObject(context.getBean(type));
	}

	private static void await(Callable<Boolean> condition) {
		Awaitility.await().atMost(PATIENCE).pollInterval(Duration.ofMillis(10)).until(condition);
	}

	record Events(List<String> list) {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableScheduling
	@ImportAutoConfiguration(FencedLeadershipAutoConfiguration.class)
	static class Application {

	}

	static class LoopingWorker {

		private final List<Long> terms = new CopyOnWriteArrayList<>();

		private final Events events;

		private volatile int ended;

		LoopingWorker(Events events) {
			this.events = events;
		}

		@FencedLeader("reports")
		@SuppressWarnings("NonAtomicVolatileUpdate")
		void work(Leadership leadership) throws InterruptedException {
			this.terms.add(leadership.fencingToken().value());
			try {
				while (leadership.await(Duration.ofMillis(20))) {
					leadership.requireHeld();
				}
			}
			finally {
				this.ended++;
				this.events.list().add("work ended");
			}
		}

	}

	static class StubbornWorker {

		private final CountDownLatch mayEnd = new CountDownLatch(1);

		private final Events events;

		private volatile boolean started;

		private volatile boolean told;

		StubbornWorker(Events events) {
			this.events = events;
		}

		@FencedLeader("reports")
		void work() {
			this.started = true;
			boolean ended = false;
			while (!ended) {
				try {
					this.mayEnd.await();
					ended = true;
				}
				catch (InterruptedException ex) {
					this.told = true;
				}
			}
			this.events.list().add("work ended");
		}

	}

	static class FailingWorker {

		private final AtomicInteger calls = new AtomicInteger();

		@FencedLeader("reports")
		void work() {
			this.calls.incrementAndGet();
			throw new IllegalStateException("The work fails on purpose");
		}

	}

	static class ScheduledWorker {

		private final List<Long> tokens = new CopyOnWriteArrayList<>();

		@Scheduled(fixedDelay = 10)
		@FencedLeader("ticks")
		void tick() {
			this.tokens.add(Leadership.current("ticks").orElseThrow().fencingToken().value());
		}

	}

	static class GatedWorker {

		private final Events events;

		private volatile boolean started;

		private volatile boolean interruptedAfterwards = true;

		GatedWorker(Events events) {
			this.events = events;
		}

		@FencedLeader(role = "reports", mode = Mode.GATE)
		void work() {
			this.started = true;
			try {
				new CountDownLatch(1).await();
			}
			catch (InterruptedException ex) {
				this.events.list().add("work ended");
				this.interruptedAfterwards = Thread.currentThread().isInterrupted();
			}
		}

	}

	static class LooksBeforeRefresh {

		private final List<String> seen = new CopyOnWriteArrayList<>();

		LooksBeforeRefresh(Events events) {
			this.seen.addAll(events.list());
		}

		@FencedLeader("reports")
		void work() {
		}

	}

	private static final class RecordingStore implements LeaseStore {

		private final InMemoryLeaseStore delegate = new InMemoryLeaseStore(new MonotonicInstantSource());

		private final List<String> events;

		private RecordingStore(List<String> events) {
			this.events = events;
		}

		@Override
		public List<LeaseResult> tryAcquireOrRenew(String ownerId, Collection<LeaseRequest> requests) {
			List<LeaseResult> results = this.delegate.tryAcquireOrRenew(ownerId, requests);
			results.stream()
				.filter(LeaseResult::acquired)
				.forEach((result) -> this.events
					.add("%s %s".formatted(result.outcome().name().toLowerCase(Locale.ROOT), result.role())));
			return results;
		}

		@Override
		public boolean release(String role, String ownerId, long fencingToken) {
			boolean released = this.delegate.release(role, ownerId, fencingToken);
			if (released) {
				this.events.add("released " + role);
			}
			return released;
		}

		@Override
		public Optional<Lease> find(String role) {
			return this.delegate.find(role);
		}

		@Override
		public List<Lease> findAll() {
			return this.delegate.findAll();
		}

	}

	private static final class RecordingRegistry implements NodeRegistry {

		private final InMemoryNodeRegistry delegate = new InMemoryNodeRegistry(InstantSource.system(),
				Duration.ofMinutes(5));

		private final List<String> events;

		private RecordingRegistry(List<String> events) {
			this.events = events;
		}

		@Override
		public void heartbeat(Node node) {
			this.delegate.heartbeat(node);
			this.events.add("heartbeat");
		}

		@Override
		public List<Node> liveNodes() {
			return this.delegate.liveNodes();
		}

		@Override
		public void deregister(String nodeId) {
			this.delegate.deregister(nodeId);
			this.events.add("deregistered");
		}

	}

}
