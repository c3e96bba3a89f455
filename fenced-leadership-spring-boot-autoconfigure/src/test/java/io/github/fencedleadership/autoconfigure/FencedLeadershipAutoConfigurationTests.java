package io.github.fencedleadership.autoconfigure;

import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.info.BuildProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import io.github.fencedleadership.annotation.FakeLeaderElector;
import io.github.fencedleadership.annotation.FencedLeader;
import io.github.fencedleadership.annotation.FencedLeader.Mode;
import io.github.fencedleadership.annotation.FencedLeaderMethodRegistry;
import io.github.fencedleadership.election.DefaultLeaderElector;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.LeadershipListener;
import io.github.fencedleadership.election.RoleStatus;
import io.github.fencedleadership.election.RoleStatus.State;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.membership.InMemoryNodeRegistry;
import io.github.fencedleadership.membership.Node;
import io.github.fencedleadership.membership.NodeRegistry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.groups.Tuple.tuple;

/**
 * Tests for {@link FencedLeadershipAutoConfiguration}.
 */
@ExtendWith(OutputCaptureExtension.class)
class FencedLeadershipAutoConfigurationTests {

	private static final Duration PATIENCE = Duration.ofSeconds(30);

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(FencedLeadershipAutoConfiguration.class));

	private final ApplicationContextRunner memory = this.contextRunner
		.withPropertyValues("fenced-leadership.store=memory");

	// Stores

	@Test
	void memoryStoreIsUsedOnlyWhenAskedForAndSaysWhatItIs(CapturedOutput output) {
		this.memory.run((context) -> {
			assertThat(context).hasSingleBean(InMemoryLeaseStore.class).hasSingleBean(InMemoryNodeRegistry.class);
			assertThat(output).containsOnlyOnce("leaders are elected within this process only");
		});
	}

	@Test
	void missingStoreFailsNamingTheMemoryStore() {
		this.contextRunner.run((context) -> {
			assertThat(context).hasFailed();
			assertThat(context.getStartupFailure()).hasRootCauseInstanceOf(NoLeaseStoreException.class);
			FailureAnalysis analysis = new NoLeaseStoreFailureAnalyzer().analyze(context.getStartupFailure());
			assertThat(analysis.getDescription()).contains("'fenced-leadership.store' is 'auto'");
			assertThat(analysis.getAction()).contains("fenced-leadership.store=memory")
				.contains("fenced-leadership.enabled=false");
		});
	}

	@Test
	void storesOfTheUserAreUsed() {
		this.contextRunner.withUserConfiguration(UserStores.class).run((context) -> {
			assertThat(context).hasNotFailed().hasSingleBean(LeaseStore.class).hasSingleBean(NodeRegistry.class);
			NodeRegistry registry = context.getBean(NodeRegistry.class);
			Awaitility.await().atMost(PATIENCE).until(() -> registry.liveNodes().size() == 1);
		});
	}

	@Test
	void storesOfTheUserWinOverTheMemoryStore(CapturedOutput output) {
		this.memory.withUserConfiguration(UserStores.class).run((context) -> {
			assertThat(context).hasBean("userLeaseStore").hasSingleBean(LeaseStore.class);
			assertThat(context).hasBean("userNodeRegistry").hasSingleBean(NodeRegistry.class);
			assertThat(output).doesNotContain("elected within this process only");
		});
	}

	@Test
	void nodeRegistryIsOptional() {
		this.contextRunner.withBean(LeaseStore.class, () -> new InMemoryLeaseStore(InstantSource.system()))
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(NodeRegistry.class));
	}

	// Elector

	@Test
	void electorIsStartedAndContends() {
		this.memory.run((context) -> {
			DefaultLeaderElector elector = context.getBean(DefaultLeaderElector.class);
			assertThat(elector.isRunning()).isTrue();
			elector.register(LeaderTask.holding("reports"));
			Awaitility.await().atMost(PATIENCE).until(() -> isLeading(elector, "reports"));
		});
	}

	@Test
	void electorOfTheUserIsUsedAndItsLifeLeftToTheUser() {
		this.contextRunner.withBean("userElector", FakeLeaderElector.class)
			.withBean("worker", Worker.class)
			.run((context) -> {
				assertThat(context).hasSingleBean(LeaderElector.class)
					.doesNotHaveBean(DefaultLeaderElector.class)
					.doesNotHaveBean(RenewalLifecycle.class)
					.doesNotHaveBean(ContentionLifecycle.class);
				assertThat(context.getBean(FakeLeaderElector.class).tasks("reports")).hasSize(1);
			});
	}

	@Test
	void settingsReachTheElector() {
		this.memory
			.withPropertyValues("fenced-leadership.owner-id=node-a", "spring.application.version=1.2.3",
					"fenced-leadership.lease-ttl=20s")
			.run((context) -> {
				LeaderElector elector = context.getBean(LeaderElector.class);
				assertThat(elector.ownerId()).startsWith("node-a#");
				NodeRegistry registry = context.getBean(NodeRegistry.class);
				Awaitility.await().atMost(PATIENCE).until(() -> !registry.liveNodes().isEmpty());
				assertThat(registry.liveNodes()).singleElement().satisfies((node) -> {
					assertThat(node.id()).isEqualTo(elector.ownerId());
					assertThat(node.version()).isEqualTo("1.2.3");
					assertThat(node.pid()).isEqualTo(ProcessHandle.current().pid());
					assertThat(node.startedAt().toEpochMilli()).isEqualTo(context.getStartupDate());
				});
				elector.register(LeaderTask.holding("reports"));
				LeaseStore store = context.getBean(LeaseStore.class);
				Awaitility.await().atMost(PATIENCE).until(() -> store.find("reports").isPresent());
				assertThat(store.find("reports"))
					.hasValueSatisfying((lease) -> assertThat(Duration.between(lease.renewedAt(), lease.expiresAt()))
						.isEqualTo(Duration.ofSeconds(20)));
			});
	}

	@Test
	void versionDefaultsToThatOfTheBuild() {
		Properties build = new Properties();
		build.setProperty("version", "4.5.6");
		this.memory.withBean(BuildProperties.class, () -> new BuildProperties(build)).run((context) -> {
			NodeRegistry registry = context.getBean(NodeRegistry.class);
			Awaitility.await().atMost(PATIENCE).until(() -> !registry.liveNodes().isEmpty());
			assertThat(registry.liveNodes()).extracting(Node::version).containsExactly("4.5.6");
		});
	}

	@Test
	void customizersAreAppliedAfterTheProperties() {
		this.memory.withPropertyValues("fenced-leadership.owner-id=node-a")
			.withBean(LeaderElectorBuilderCustomizer.class, () -> (builder) -> builder.ownerName("node-b"))
			.run((context) -> assertThat(context.getBean(LeaderElector.class).ownerId()).startsWith("node-b#"));
	}

	@Test
	void listenersAreToldOfTerms() {
		RecordingListener listener = new RecordingListener();
		this.memory.withBean(RecordingListener.class, () -> listener).run((context) -> {
			context.getBean(LeaderElector.class).register(LeaderTask.holding("reports"));
			Awaitility.await().atMost(PATIENCE).until(() -> listener.granted.contains(new FencingToken("reports", 1)));
		});
	}

	@Test
	void lifecyclePhasesEncloseTheWebServer() {
		int webServerStartStop = SmartLifecycle.DEFAULT_PHASE - 2048;
		int webServerGracefulShutdown = SmartLifecycle.DEFAULT_PHASE - 1024;
		this.memory.run((context) -> {
			assertThat(context.getBean(RenewalLifecycle.class).getPhase()).isLessThan(webServerStartStop);
			assertThat(context.getBean(ContentionLifecycle.class).getPhase()).isGreaterThan(webServerGracefulShutdown)
				.isLessThan(SmartLifecycle.DEFAULT_PHASE);
		});
	}

	@Test
	void overrideForARoleThatNothingIsRegisteredForIsAWarning(CapturedOutput output) {
		this.memory
			.withPropertyValues("fenced-leadership.roles.reprots.lease-ttl=5s",
					"fenced-leadership.roles.reports.lease-ttl=5s")
			.withBean("worker", Worker.class)
			.run((context) -> assertThat(output)
				.containsOnlyOnce("'fenced-leadership.roles.reprots' are for a role that nothing is registered for")
				.doesNotContain("'fenced-leadership.roles.reports' are for a role"));
	}

	@Test
	void invalidPropertyFailsTheStart() {
		this.memory.withPropertyValues("fenced-leadership.namespace=my orders")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(InvalidFencedLeadershipPropertyException.class));
	}

	// Disabled

	@Test
	void disabledNeverContends() {
		this.contextRunner.withPropertyValues("fenced-leadership.enabled=false")
			.withBean("worker", Worker.class)
			.run((context) -> {
				assertThat(context).hasNotFailed()
					.hasSingleBean(DisabledLeaderElector.class)
					.doesNotHaveBean(LeaseStore.class)
					.doesNotHaveBean(RenewalLifecycle.class)
					.doesNotHaveBean(ContentionLifecycle.class);
				LeaderElector elector = context.getBean(LeaderElector.class);
				assertThat(elector.statuses()).extracting(RoleStatus::role, RoleStatus::state)
					.containsExactly(tuple("gates", State.STOPPED), tuple("reports", State.STOPPED));
				assertThat(elector.enter("reports")).isEmpty();
				assertThatIllegalStateException().isThrownBy(elector::ownerId)
					.withMessageContaining("'fenced-leadership.enabled' is 'false'");
			});
	}

	@Test
	void disabledKeepsGatesClosedAndRunsNoWork() {
		this.memory.withPropertyValues("fenced-leadership.enabled=false")
			.withBean("worker", Worker.class)
			.run((context) -> {
				Worker worker = context.getBean(Worker.class);
				worker.gate();
				assertThat(worker.calls()).isEmpty();
				assertThat(context.getBean(FencedLeaderMethodRegistry.class).getSkippedCalls("gates")).isOne();
			});
	}

	@Test
	void disabledStillRejectsWhatCouldNotBeFenced() {
		this.contextRunner.withPropertyValues("fenced-leadership.enabled=false")
			.withBean("worker", FinalWorker.class)
			.run((context) -> {
				assertThat(context).hasFailed();
				FailureAnalysis analysis = new InvalidFencedMethodFailureAnalyzer()
					.analyze(context.getStartupFailure());
				assertThat(analysis.getDescription()).contains("FinalWorker.work' of bean 'worker' is final");
				assertThat(analysis.getAction()).startsWith("Remove 'final'");
			});
	}

	@Test
	void disabledBacksOffForAnElectorOfTheUser() {
		this.contextRunner.withPropertyValues("fenced-leadership.enabled=false")
			.withBean("userElector", FakeLeaderElector.class)
			.run((context) -> assertThat(context).hasSingleBean(LeaderElector.class));
	}

	private static boolean isLeading(LeaderElector elector, String role) {
		return elector.status(role).filter((status) -> status.state() == State.LEADING).isPresent();
	}

	@Configuration(proxyBeanMethods = false)
	static class UserStores {

		@Bean
		LeaseStore userLeaseStore() {
			return new InMemoryLeaseStore(InstantSource.system());
		}

		@Bean
		NodeRegistry userNodeRegistry() {
			return new InMemoryNodeRegistry(InstantSource.system(), Duration.ofMinutes(1));
		}

	}

	static class RecordingListener implements LeadershipListener {

		private final List<FencingToken> granted = new CopyOnWriteArrayList<>();

		@Override
		public void granted(FencingToken token) {
			this.granted.add(token);
		}

	}

	static class Worker {

		private final List<String> calls = new CopyOnWriteArrayList<>();

		@FencedLeader("reports")
		void work() {
			this.calls.add("work");
		}

		@FencedLeader(role = "gates", mode = Mode.GATE)
		void gate() {
			this.calls.add("gate");
		}

		List<String> calls() {
			return this.calls;
		}

	}

	static class FinalWorker {

		@FencedLeader("reports")
		final void work() {
		}

	}

}
