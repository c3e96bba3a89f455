package io.github.fencedleadership.annotation;

import java.io.IOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.event.EventListener;
import org.springframework.core.annotation.AliasFor;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;

import io.github.fencedleadership.annotation.FakeLeaderElector.FakeLeadership;
import io.github.fencedleadership.annotation.FencedLeader.Mode;
import io.github.fencedleadership.annotation.FencedLeader.Otherwise;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.election.LeadershipLostException;
import io.github.fencedleadership.election.RoleSettings;
import io.github.fencedleadership.election.RoleStatus.State;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.groups.Tuple.tuple;

/**
 * Tests of {@link FencedLeader @FencedLeader} methods that are accepted.
 */
@ExtendWith(OutputCaptureExtension.class)
class FencedLeaderTests {

	private final FakeLeaderElector elector = new FakeLeaderElector();

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withUserConfiguration(FencedLeaderConfiguration.class, SettingsConfiguration.class)
		.withBean("leaderElector", FakeLeaderElector.class, () -> this.elector);

	// Run

	@Test
	void runMethodIsRegisteredAsATaskWithItsDescription() {
		this.contextRunner.withBean("worker", RunWithLeadership.class).run((context) -> {
			LeaderTask task = onlyTask("reports");
			assertThat(task.description()).isEqualTo("worker.work()");
			assertThat(task.work()).isNotNull();
			assertThat(task.settings()).isNull();
		});
	}

	@Test
	void runMethodIsNotRunBeforeElection() {
		this.contextRunner.withBean("worker", RunWithLeadership.class)
			.run((context) -> assertThat(context.getBean(RunWithLeadership.class).calls()).isEmpty());
	}

	@Test
	void runMethodReceivesTheLeadership() {
		this.contextRunner.withBean("worker", RunWithLeadership.class).run((context) -> {
			this.elector.runWork("reports", 7);
			assertThat(context.getBean(RunWithLeadership.class).calls()).singleElement()
				.satisfies((leadership) -> assertThat(leadership.fencingToken().value()).isEqualTo(7));
		});
	}

	@Test
	void runMethodReceivesTheFencingToken() {
		this.contextRunner.withBean("worker", RunWithToken.class).run((context) -> {
			this.elector.runWork("reports", 7);
			assertThat(context.getBean(RunWithToken.class).calls()).containsExactly(7L);
		});
	}

	@Test
	void runMethodMayTakeNothing() {
		this.contextRunner.withBean("worker", PackagePrivateRun.class).run((context) -> {
			this.elector.runWork("reports", 1);
			this.elector.runWork("reports", 2);
			assertThat(context.getBean(PackagePrivateRun.class).calls()).isEqualTo(2);
		});
	}

	@Test
	void exceptionOfRunMethodReachesTheElectorAsItIs() {
		this.contextRunner.withBean("worker", FailingRun.class)
			.run((context) -> assertThatExceptionOfType(IOException.class)
				.isThrownBy(() -> this.elector.runWork("reports", 1))
				.withMessage("failed"));
	}

	@Test
	void callOfRunMethodFromOutsideIsRejected() {
		this.contextRunner.withBean("worker", PackagePrivateRun.class).run((context) -> {
			PackagePrivateRun worker = context.getBean(PackagePrivateRun.class);
			this.elector.lead("reports", 1);
			assertThatIllegalStateException().isThrownBy(worker::work)
				.withMessageContaining("is run once per term of role 'reports' and must not be called")
				.withMessageContaining("mode = Mode.GATE");
			assertThat(worker.calls()).isZero();
		});
	}

	@Test
	void callOfAnotherRunMethodFromInsideIsRejected() {
		this.contextRunner.withBean("worker", PackagePrivateRun.class)
			.withBean("caller", CallsAnotherRun.class)
			.run((context) -> {
				assertThatIllegalStateException().isThrownBy(() -> this.elector.runWork("caller", 1))
					.withMessageContaining("role 'reports'");
				assertThat(context.getBean(PackagePrivateRun.class).calls()).isZero();
			});
	}

	@Test
	void twoBeansOfOneClassAreRunEachOnItsOwn() {
		this.contextRunner.withBean("first", PackagePrivateRun.class)
			.withBean("second", PackagePrivateRun.class)
			.run((context) -> {
				this.elector.runWork("reports", 1);
				assertThat(context.getBean("first", PackagePrivateRun.class).calls()).isOne();
				assertThat(context.getBean("second", PackagePrivateRun.class).calls()).isOne();
			});
	}

	@Test
	void workIsRunThroughTheProxySoThatOtherAdviceApplies() {
		this.contextRunner.withBean("worker", PackagePrivateRun.class)
			.withUserConfiguration(RetryLikeConfiguration.class)
			.run((context) -> {
				context.getBean(PackagePrivateRun.class).failOnce();
				this.elector.runWork("reports", 1);
				assertThat(context.getBean(PackagePrivateRun.class).calls()).isEqualTo(2);
			});
	}

	@Test
	void retryOfWorkAfterTheTermIsOverIsRejected() {
		this.contextRunner.withBean("worker", LosesTerm.class)
			.withUserConfiguration(RetryLikeConfiguration.class)
			.run((context) -> assertThatExceptionOfType(LeadershipLostException.class)
				.isThrownBy(() -> this.elector.runWork("reports", 1)));
	}

	// Gate

	@Test
	void closedGateSkips() {
		this.contextRunner.withBean("worker", Gates.class).run((context) -> {
			Gates worker = context.getBean(Gates.class);
			worker.nothing();
			assertThat(worker.text("a")).isNull();
			assertThat(worker.optional()).isEmpty();
			assertThat(worker.calls()).isEmpty();
			assertThat(context.getBean(FencedLeaderMethodRegistry.class).getSkippedCalls("gates")).isEqualTo(3);
			assertThat(context.getBean(FencedLeaderMethodRegistry.class).getLeaderlessCalls("gates")).isZero();
		});
	}

	@Test
	void closedGateThrowsIfDeclaredSo() {
		this.contextRunner.withBean("worker", Gates.class).run((context) -> {
			Gates worker = context.getBean(Gates.class);
			assertThatExceptionOfType(NotLeaderException.class).isThrownBy(worker::count)
				.withMessageContaining("'gates.count()'")
				.withMessageContaining("role 'gates'")
				.satisfies((ex) -> assertThat(ex.getRole()).isEqualTo("gates"));
			assertThat(worker.calls()).isEmpty();
		});
	}

	@Test
	void openGateCallsInsideOfItsScope() {
		this.contextRunner.withBean("worker", Gates.class).run((context) -> {
			Gates worker = context.getBean(Gates.class);
			this.elector.lead("gates", 3);
			worker.nothing();
			assertThat(worker.text("a")).isEqualTo("a");
			assertThat(worker.optional()).contains("optional");
			assertThat(worker.count()).isOne();
			assertThat(worker.calls()).containsExactly("nothing", "text", "optional", "count");
			assertThat(this.elector.events()).hasSize(8).startsWith("enter gates", "leave gates", "enter gates");
		});
	}

	@Test
	void exceptionOfGatedCallReachesTheCallerAndLeavesTheScope() {
		this.contextRunner.withBean("worker", Gates.class).run((context) -> {
			Gates worker = context.getBean(Gates.class);
			FakeLeadership leadership = this.elector.lead("gates", 3);
			assertThatExceptionOfType(IOException.class).isThrownBy(worker::fail).withMessage("failed");
			assertThat(this.elector.events()).containsExactly("enter gates", "leave gates");
			assertThat(leadership.isHeld()).isTrue();
		});
	}

	@Test
	void allGatesOfARoleAreOneHoldingTask() {
		this.contextRunner.withBean("worker", Gates.class).run((context) -> {
			LeaderTask task = onlyTask("gates");
			assertThat(task.work()).isNull();
			assertThat(task.description()).contains("worker.nothing()").contains("worker.count()");
		});
	}

	@Test
	void gateAndRunOfOneRoleAreTwoTasks() {
		this.contextRunner.withBean("gate", ReportsGate.class)
			.withBean("run", PackagePrivateRun.class)
			.run((context) -> assertThat(this.elector.tasks("reports")).extracting(LeaderTask::description)
				.containsExactlyInAnyOrder("gate.work()", "run.work()"));
	}

	@Test
	void twoRunMethodsOfOneRoleAreTwoTasks() {
		this.contextRunner.withBean("worker", TwoRunMethods.class).run((context) -> {
			assertThat(this.elector.tasks("reports")).hasSize(2);
			this.elector.runWork("reports", 1);
			assertThat(context.getBean(TwoRunMethods.class).calls()).containsExactlyInAnyOrder("first", "second");
		});
	}

	@Test
	void twoRolesOnOneBeanAreIndependent() {
		this.contextRunner.withBean("worker", TwoRoles.class).run((context) -> {
			this.elector.lead("one", 1);
			TwoRoles worker = context.getBean(TwoRoles.class);
			worker.one();
			worker.two();
			assertThat(worker.calls()).containsExactly("one");
		});
	}

	@Test
	void callThatFallsWhilePossiblyNobodyLeadsIsCountedApartAndLoggedOnce(CapturedOutput output) {
		this.contextRunner.withBean("worker", Gates.class).run((context) -> {
			this.elector.state("gates", State.BACKING_OFF);
			Gates worker = context.getBean(Gates.class);
			worker.nothing();
			worker.nothing();
			FencedLeaderMethodRegistry registry = context.getBean(FencedLeaderMethodRegistry.class);
			assertThat(registry.getSkippedCalls("gates")).isEqualTo(2);
			assertThat(registry.getLeaderlessCalls("gates")).isEqualTo(2);
			assertThat(output).containsOnlyOnce("no leader of role 'gates' is known, and this node is BACKING_OFF");
		});
	}

	@Test
	void gatedEventListenerIsCalledWhileLeading() {
		this.contextRunner.withBean("worker", GatedListener.class).run((context) -> {
			context.publishEvent("skipped");
			this.elector.lead("events", 1);
			context.publishEvent("heard");
			assertThat(context.getBean(GatedListener.class).calls()).containsExactly("heard");
		});
	}

	@Test
	void gateOfAFactoryBeansProductIsClosed() {
		this.contextRunner.withBean("worker", GatesFactoryBean.class).run((context) -> {
			assertThat(this.elector.tasks("gates")).hasSize(1);
			Gates worker = context.getBean(Gates.class);
			worker.nothing();
			assertThat(worker.calls()).isEmpty();
		});
	}

	@Test
	void scopedProxyOfASingletonIsGatedOnce() {
		this.contextRunner.withUserConfiguration(ScopedSingleton.class).run((context) -> {
			assertThat(this.elector.tasks("gates")).hasSize(1);
			this.elector.lead("gates", 1);
			context.getBean("worker", Gates.class).nothing();
			assertThat(this.elector.events()).containsExactly("enter gates", "leave gates");
		});
	}

	@Test
	void gateInAConfigurationClassIsClosed() {
		this.contextRunner.withUserConfiguration(GateInConfiguration.class).run((context) -> {
			GateInConfiguration worker = context.getBean(GateInConfiguration.class);
			worker.work();
			assertThat(worker.calls()).isEmpty();
			this.elector.lead("reports", 1);
			worker.work();
			assertThat(worker.calls()).containsExactly("work");
		});
	}

	// Proxies

	@ParameterizedTest
	@ValueSource(strings = { "true", "false" })
	void gateIsClosedThroughEitherKindOfProxy(String proxyTargetClass) {
		this.contextRunner.withPropertyValues("spring.aop.proxy-target-class=" + proxyTargetClass)
			.withBean("worker", JobImplementation.class)
			.run((context) -> {
				Job worker = context.getBean(Job.class);
				assertThat(AopUtils.isCglibProxy(worker)).isEqualTo(Boolean.parseBoolean(proxyTargetClass));
				worker.gate();
				assertThat(JobImplementation.calls).isEmpty();
				this.elector.lead("reports", 1);
				worker.gate();
				assertThat(JobImplementation.calls).containsExactly("gate");
				JobImplementation.calls.clear();
			});
	}

	@ParameterizedTest
	@ValueSource(strings = { "true", "false" })
	void workIsRunThroughEitherKindOfProxy(String proxyTargetClass) {
		this.contextRunner.withPropertyValues("spring.aop.proxy-target-class=" + proxyTargetClass)
			.withBean("worker", JobImplementation.class)
			.run((context) -> {
				this.elector.runWork("runs", 1);
				assertThat(JobImplementation.calls).containsExactly("run");
				JobImplementation.calls.clear();
			});
	}

	@Test
	void annotationOfAnInterfaceMethodApplies() {
		this.contextRunner.withBean("worker", ImplementsAnnotatedInterface.class).run((context) -> {
			ImplementsAnnotatedInterface worker = context.getBean(ImplementsAnnotatedInterface.class);
			worker.work();
			assertThat(worker.calls()).isZero();
			assertThat(this.elector.tasks("reports")).hasSize(1);
		});
	}

	@Test
	void annotationOfAnInterfaceAppliesToAMethodInheritedFromElsewhere() {
		this.contextRunner.withBean("worker", InheritsImplementation.class).run((context) -> {
			InheritsImplementation worker = context.getBean(InheritsImplementation.class);
			worker.work();
			assertThat(Implementation.calls).isZero();
			assertThat(this.elector.tasks("reports")).hasSize(1);
		});
	}

	@Test
	void annotationOfAnOverriddenMethodApplies() {
		this.contextRunner.withBean("worker", OverridesGate.class).run((context) -> {
			OverridesGate worker = context.getBean(OverridesGate.class);
			worker.work();
			assertThat(worker.calls()).isZero();
			assertThat(this.elector.tasks("reports")).hasSize(1);
		});
	}

	@Test
	void gateIsOutsideOfTransactions() {
		this.contextRunner.withUserConfiguration(Transactions.class)
			.withBean("worker", TransactionalGate.class)
			.run((context) -> {
				TransactionalGate worker = context.getBean(TransactionalGate.class);
				worker.work();
				assertThat(this.elector.events()).isEmpty();
				this.elector.lead("reports", 1);
				worker.work();
				assertThat(this.elector.events()).containsExactly("enter reports", "begin", "work", "commit",
						"leave reports");
			});
	}

	// Attributes

	@Test
	void metaAnnotationWithOverriddenAttributes() {
		this.contextRunner.withBean("worker", MetaAnnotated.class).run((context) -> {
			LeaderTask task = onlyTask("nightly.accounts");
			assertThat(task.settings()).isNotNull();
			assertThat(task.settings().leaseTtl()).isEqualTo(Duration.ofMinutes(2));
			assertThat(context.getBean(FencedLeaderMethodRegistry.class).getMethods()).singleElement()
				.satisfies((method) -> assertThat(method.mode()).isEqualTo(Mode.GATE));
		});
	}

	@Test
	void placeholdersAreResolvedInAllAttributes() {
		this.contextRunner.withPropertyValues("job.role=invoices", "job.ttl=60s", "job.renew=PT5S", "job.stall=90000")
			.withBean("worker", Placeholders.class)
			.run((context) -> assertThat(onlyTask("invoices").settings()).isEqualTo(RoleSettings
				.of(Duration.ofSeconds(60), Duration.ofSeconds(5), null, null, Duration.ofSeconds(90))));
	}

	// Scheduling and start-up

	@Test
	void scheduledMethodIsAGateThatRunsOnlyWhileLeading() {
		this.contextRunner.withUserConfiguration(Scheduling.class)
			.withBean("worker", ScheduledGate.class)
			.run((context) -> {
				ScheduledGate worker = context.getBean(ScheduledGate.class);
				FencedLeaderMethodRegistry registry = context.getBean(FencedLeaderMethodRegistry.class);
				Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> registry.getSkippedCalls("ticks") >= 3);
				assertThat(worker.calls()).isZero();
				this.elector.lead("ticks", 1);
				Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> worker.calls() >= 3);
			});
	}

	@Test
	void scheduledMethodWithoutSchedulingHoldsItsRole() {
		this.contextRunner.withBean("worker", ScheduledGate.class)
			.run((context) -> assertThat(onlyTask("ticks").work()).isNull());
	}

	@Test
	void lazyInitializationDoesNotKeepWorkFromBeingRun() {
		this.contextRunner.withUserConfiguration(LazyInitialization.class)
			.withBean("run", PackagePrivateRun.class)
			.withBean("gate", Gates.class)
			.run((context) -> {
				assertThat(context.getBeanFactory().containsSingleton("run")).isTrue();
				assertThat(context.getBeanFactory().containsSingleton("gate")).isFalse();
				this.elector.runWork("reports", 1);
				assertThat(context.getBean(PackagePrivateRun.class).calls()).isOne();
				assertThat(this.elector.tasks("gates")).hasSize(1);
				Gates gates = context.getBean(Gates.class);
				gates.nothing();
				assertThat(gates.calls()).isEmpty();
				assertThat(this.elector.tasks("gates")).hasSize(1);
			});
	}

	@Test
	void closingTheContextEndsTheInterest() {
		this.contextRunner.withBean("run", PackagePrivateRun.class)
			.withBean("gate", Gates.class)
			.run((context) -> assertThat(this.elector.tasks()).hasSize(2));
		assertThat(this.elector.tasks()).isEmpty();
	}

	@Test
	void gateIsClosedAfterTheContextHasBeenClosed() {
		AtomicReference<Gates> worker = new AtomicReference<>();
		this.contextRunner.withBean("gate", Gates.class).run((context) -> worker.set(context.getBean(Gates.class)));
		assertThat(worker.get().text("late")).isNull();
	}

	@Test
	void methodsAreRegisteredWithEverythingResolved() {
		this.contextRunner.withBean("worker", TwoRoles.class)
			.run((context) -> assertThat(context.getBean(FencedLeaderMethodRegistry.class).getMethods())
				.extracting(FencedLeaderMethod::description, FencedLeaderMethod::role, FencedLeaderMethod::mode)
				.containsExactlyInAnyOrder(tuple("worker.one()", "one", Mode.GATE),
						tuple("worker.two()", "two", Mode.GATE)));
	}

	private LeaderTask onlyTask(String role) {
		assertThat(this.elector.tasks(role)).hasSize(1);
		return this.elector.tasks(role).get(0);
	}

	static class RunWithLeadership {

		private final List<Leadership> calls = new ArrayList<>();

		@FencedLeader("reports")
		public void work(Leadership leadership) {
			this.calls.add(leadership);
		}

		List<Leadership> calls() {
			return this.calls;
		}

	}

	static class RunWithToken {

		private final List<Long> calls = new ArrayList<>();

		@FencedLeader("reports")
		protected void work(long token) {
			this.calls.add(token);
		}

		List<Long> calls() {
			return this.calls;
		}

	}

	static class PackagePrivateRun {

		private int calls;

		private boolean fail;

		@FencedLeader("reports")
		void work() {
			this.calls++;
			if (this.fail) {
				this.fail = false;
				throw new UnsupportedOperationException();
			}
		}

		int calls() {
			return this.calls;
		}

		void failOnce() {
			this.fail = true;
		}

	}

	static class LosesTerm {

		@FencedLeader("reports")
		void work(Leadership leadership) {
			((FakeLeadership) leadership).end();
			throw new UnsupportedOperationException();
		}

	}

	static class FailingRun {

		@FencedLeader("reports")
		void work() throws IOException {
			throw new IOException("failed");
		}

	}

	static class CallsAnotherRun {

		private final PackagePrivateRun other;

		CallsAnotherRun(PackagePrivateRun other) {
			this.other = other;
		}

		@FencedLeader("caller")
		void work() {
			this.other.work();
		}

	}

	static class Gates {

		private final List<String> calls = new ArrayList<>();

		@FencedLeader(role = "gates", mode = Mode.GATE)
		void nothing() {
			this.calls.add("nothing");
		}

		@FencedLeader(role = "gates", mode = Mode.GATE)
		String text(String text) {
			this.calls.add("text");
			return text;
		}

		@FencedLeader(role = "gates", mode = Mode.GATE)
		Optional<String> optional() {
			this.calls.add("optional");
			return Optional.of("optional");
		}

		@FencedLeader(role = "gates", mode = Mode.GATE, otherwise = Otherwise.THROW)
		int count() {
			this.calls.add("count");
			return 1;
		}

		@FencedLeader(role = "gates", mode = Mode.GATE)
		void fail() throws IOException {
			throw new IOException("failed");
		}

		List<String> calls() {
			return this.calls;
		}

	}

	static class ReportsGate {

		@FencedLeader(role = "reports", mode = Mode.GATE)
		void work() {
		}

	}

	static class TwoRunMethods {

		private final List<String> calls = new ArrayList<>();

		@FencedLeader("reports")
		void first() {
			this.calls.add("first");
		}

		@FencedLeader("reports")
		void second() {
			this.calls.add("second");
		}

		List<String> calls() {
			return this.calls;
		}

	}

	static class TwoRoles {

		private final List<String> calls = new ArrayList<>();

		@FencedLeader(role = "one", mode = Mode.GATE)
		void one() {
			this.calls.add("one");
		}

		@FencedLeader(role = "two", mode = Mode.GATE)
		void two() {
			this.calls.add("two");
		}

		List<String> calls() {
			return this.calls;
		}

	}

	static class GatedListener {

		private final List<String> calls = new ArrayList<>();

		@EventListener
		@FencedLeader(role = "events", mode = Mode.GATE)
		void on(String event) {
			this.calls.add(event);
		}

		List<String> calls() {
			return this.calls;
		}

	}

	static class GatesFactoryBean implements FactoryBean<Gates> {

		@Override
		public Gates getObject() {
			return new Gates();
		}

		@Override
		public Class<?> getObjectType() {
			return Gates.class;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ScopedSingleton {

		@Bean
		@Scope(scopeName = BeanDefinition.SCOPE_SINGLETON, proxyMode = ScopedProxyMode.TARGET_CLASS)
		Gates worker() {
			return new Gates();
		}

	}

	@Configuration
	static class GateInConfiguration {

		private final List<String> calls = new ArrayList<>();

		@FencedLeader(role = "reports", mode = Mode.GATE)
		void work() {
			this.calls.add("work");
		}

		List<String> calls() {
			return this.calls;
		}

	}

	interface Job {

		void gate();

		void run();

	}

	static class JobImplementation implements Job {

		static final List<String> calls = new ArrayList<>();

		@Override
		@FencedLeader(role = "reports", mode = Mode.GATE)
		public void gate() {
			calls.add("gate");
		}

		@Override
		@FencedLeader("runs")
		public void run() {
			calls.add("run");
		}

	}

	interface AnnotatedInterface<T> {

		@FencedLeader(role = "reports", mode = Mode.GATE)
		T work();

	}

	static class ImplementsAnnotatedInterface implements AnnotatedInterface<String> {

		private int calls;

		@Override
		public String work() {
			this.calls++;
			return "";
		}

		int calls() {
			return this.calls;
		}

	}

	static class Implementation {

		static int calls;

		public String work() {
			calls++;
			return "";
		}

	}

	static class InheritsImplementation extends Implementation implements AnnotatedInterface<String> {

	}

	static class HasGate {

		@FencedLeader(role = "reports", mode = Mode.GATE)
		public void work() {
		}

	}

	static class OverridesGate extends HasGate {

		private int calls;

		@Override
		public void work() {
			this.calls++;
		}

		int calls() {
			return this.calls;
		}

	}

	static class TransactionalGate {

		private final FakeLeaderElector elector;

		TransactionalGate(FakeLeaderElector elector) {
			this.elector = elector;
		}

		@Transactional
		@FencedLeader(role = "reports", mode = Mode.GATE)
		public void work() {
			this.elector.events().add("work");
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement(proxyTargetClass = true)
	static class Transactions {

		@Bean
		AbstractPlatformTransactionManager transactionManager(FakeLeaderElector elector) {
			return new RecordingTransactionManager(elector.events());
		}

	}

	@SuppressWarnings("serial")
	static class RecordingTransactionManager extends AbstractPlatformTransactionManager {

		private final transient List<String> events;

		RecordingTransactionManager(List<String> events) {
			this.events = events;
		}

		@Override
		protected Object doGetTransaction() {
			return new Object();
		}

		@Override
		protected void doBegin(Object transaction, TransactionDefinition definition) {
			this.events.add("begin");
		}

		@Override
		protected void doCommit(DefaultTransactionStatus status) {
			this.events.add("commit");
		}

		@Override
		protected void doRollback(DefaultTransactionStatus status) {
			this.events.add("rollback");
		}

	}

	@Target(ElementType.METHOD)
	@Retention(RetentionPolicy.RUNTIME)
	@Scheduled(cron = "0 0 3 * * *")
	@FencedLeader
	@interface Nightly {

		@AliasFor(annotation = FencedLeader.class, attribute = "role")
		String role();

		@AliasFor(annotation = FencedLeader.class, attribute = "leaseTtl")
		String leaseTtl() default "1m";

	}

	static class MetaAnnotated {

		@Nightly(role = "nightly.accounts", leaseTtl = "2m")
		void work() {
		}

	}

	static class Placeholders {

		@FencedLeader(role = "${job.role}", leaseTtl = "${job.ttl}", renewInterval = "${job.renew}",
				stallTimeout = "${job.stall}")
		void work() {
		}

	}

	static class ScheduledGate {

		private volatile int calls;

		@Scheduled(fixedDelay = 10)
		@FencedLeader("ticks")
		@SuppressWarnings("NonAtomicVolatileUpdate")
		void tick() {
			this.calls++;
		}

		int calls() {
			return this.calls;
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableScheduling
	static class Scheduling {

	}

	@Configuration(proxyBeanMethods = false)
	static class LazyInitialization {

		@Bean
		static LazyInitializationBeanFactoryPostProcessor lazyInitialization() {
			return new LazyInitializationBeanFactoryPostProcessor();
		}

	}

	/**
	 * Advice further out that calls again after a failure, as that of {@code @Retryable}.
	 */
	@Configuration(proxyBeanMethods = false)
	static class RetryLikeConfiguration {

		@Bean
		static RetryLikePostProcessor retryLikePostProcessor() {
			return new RetryLikePostProcessor();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class SettingsConfiguration {

		@Bean
		RoleSettingsResolver roleSettingsResolver() {
			return (role, declared) -> declared.isEmpty() ? null : RoleSettings.of(declared.leaseTtl(),
					declared.renewInterval(), null, null, declared.stallTimeout());
		}

	}

}
