package io.github.fencedleadership.annotation;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.stream.Stream;

import kotlin.coroutines.Continuation;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.Mockito;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.BeanDefinitionHolder;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.support.BeanDefinitionRegistryPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.ContextConsumer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.event.EventListener;
import org.springframework.core.PriorityOrdered;
import org.springframework.jms.annotation.JmsListener;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.annotation.Transactional;

import io.github.fencedleadership.annotation.FencedLeader.Mode;
import io.github.fencedleadership.annotation.FencedLeader.Otherwise;
import io.github.fencedleadership.annotation.other.HasPackagePrivateMethod;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.election.RoleSettings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests of what is rejected at start-up.
 */
class FencedLeaderValidationTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withUserConfiguration(FencedLeaderConfiguration.class, ElectorConfiguration.class);

	@Test
	void privateMethodIsRejected() {
		assertRejected(PrivateMethod.class, "is private");
	}

	@Test
	void staticMethodIsRejected() {
		assertRejected(StaticMethod.class, "is static");
	}

	@Test
	void finalMethodIsRejected() {
		assertRejected(FinalMethod.class, "is final");
	}

	@Test
	void finalClassIsRejected() {
		assertRejected(FinalClass.class, "is in the final class");
	}

	@Test
	void packagePrivateMethodOfAnotherPackageIsRejected() {
		assertRejected(InheritsFromOtherPackage.class, "is package-private in another package");
	}

	@Test
	void runMethodWithResultIsRejected() {
		assertRejected(RunWithResult.class, "must return nothing, not 'java.lang.String'");
	}

	@Test
	void runMethodWithUnsupportedParameterIsRejected() {
		assertRejected(RunWithStringParameter.class, "takes unsupported parameters");
	}

	@Test
	void runMethodWithTwoParametersIsRejected() {
		assertRejected(RunWithTwoParameters.class, "takes unsupported parameters");
	}

	@Test
	void eventListenerWithoutModeIsRejectedWithTheRemedyToDeclareGate() {
		assertRejected(EventListenerToRun.class, "declare mode = Mode.GATE");
	}

	@Test
	void runMethodThatIsScheduledIsRejected() {
		assertRejected(ScheduledRun.class, "cannot be @Scheduled too");
	}

	@Test
	void scheduledGateWithParametersIsRejected() {
		assertRejected(ScheduledGateWithParameter.class, "is @Scheduled and takes parameters");
	}

	@Test
	void scheduledGateWithParametersIsRejectedByUsBeforeScheduling() {
		this.contextRunner.withUserConfiguration(Scheduling.class)
			.withBean("worker", ScheduledGateWithParameter.class)
			.run(rejected("worker", "is @Scheduled and takes parameters"));
	}

	@Test
	void primitiveResultOfSkippingGateIsRejected() {
		assertRejected(PrimitiveGate.class, "returns the primitive 'int'");
	}

	@Test
	void primitiveResultOfThrowingGateIsAccepted() {
		assertAccepted(PrimitiveThrowingGate.class);
	}

	@Test
	void asyncMethodIsRejected() {
		assertRejected(AsyncMethod.class, "is @Async");
	}

	@Test
	void asyncClassIsRejected() {
		assertRejected(AsyncClass.class, "is @Async");
	}

	@Test
	void transactionalRunMethodIsRejected() {
		assertRejected(TransactionalRun.class, "is @Transactional");
	}

	@Test
	void runMethodOfTransactionalClassIsRejected() {
		assertRejected(TransactionalClass.class, "is @Transactional");
	}

	@Test
	void transactionalGateIsAccepted() {
		assertAccepted(TransactionalGate.class);
	}

	@ParameterizedTest
	@ValueSource(classes = { ReturnsFuture.class, ReturnsCompletableFuture.class, ReturnsMono.class,
			ReturnsCallable.class, ReturnsStream.class, ReturnsPublisher.class })
	void resultThatIsMadeLaterIsRejected(Class<?> type) {
		assertRejected(type, "whose work would go on outside of the term");
	}

	@Test
	void kotlinSuspendingFunctionIsRejected() {
		assertRejected(Suspending.class, "is a suspending function");
	}

	@Test
	void messageListenerWithSkippingGateIsRejected() {
		assertRejected(SkippingMessageListener.class,
				"is a @JmsListener, and skipping its call would lose the message");
	}

	@Test
	void messageListenerToRunIsRejected() {
		assertRejected(MessageListenerToRun.class, "cannot be a @JmsListener too");
	}

	@Test
	void messageListenerWithThrowingGateIsAccepted() {
		assertAccepted(ThrowingMessageListener.class);
	}

	@Test
	void eventListenerWithSkippingGateIsAccepted() {
		assertAccepted(GatedEventListener.class);
	}

	@ParameterizedTest
	@ValueSource(classes = { NoRole.class, EmptyPlaceholderRole.class })
	void missingRoleIsRejected(Class<?> type) {
		assertRejected(type, "names no role");
	}

	@Test
	void invalidRoleIsRejected() {
		assertRejected(InvalidRole.class, "names the invalid role 'my role'");
	}

	@Test
	void unusableDurationIsRejected() {
		assertRejected(InvalidDuration.class, "has an unusable leaseTtl 'soon'");
	}

	@Test
	void prototypeIsRejected() {
		this.contextRunner.withBean("worker", Gate.class, Gate::new, (definition) -> definition.setScope("prototype"))
			.run(rejected("worker", "is in a bean that is not a singleton"));
	}

	@Test
	void scopedProxyOfShortLivedBeanIsRejected() {
		this.contextRunner.withUserConfiguration(ScopedBean.class)
			.run(rejected("worker", "is in a bean that is not a singleton"));
	}

	@Test
	void productOfPrototypeFactoryBeanIsRejected() {
		this.contextRunner.withBean("worker", PrototypeFactoryBean.class)
			.run(rejected("worker", "is in a bean that is not a singleton"));
	}

	@Test
	void lazyRunBeanIsRejected() {
		this.contextRunner.withBean("worker", Run.class, Run::new, (definition) -> definition.setLazyInit(true))
			.run(rejected("worker", "its bean is created lazily"));
	}

	@Test
	void lazyGateIsAcceptedAndHoldsItsRole() {
		this.contextRunner.withBean("worker", Gate.class, Gate::new, (definition) -> definition.setLazyInit(true))
			.run((context) -> {
				assertThat(context).hasNotFailed();
				assertThat(context.getBeanFactory().containsSingleton("worker")).isFalse();
				assertThat(context.getBean(FakeLeaderElector.class).tasks("role")).hasSize(1);
			});
	}

	@Test
	void beanThatWasCreatedBeforePostProcessorsIsRejected() {
		this.contextRunner.withUserConfiguration(EarlyBean.class).run(rejected("worker", "the bean is not proxied"));
	}

	@Test
	void objectRegisteredAsSingletonIsRejected() {
		this.contextRunner
			.withInitializer((context) -> context.getBeanFactory().registerSingleton("worker", new Gate()))
			.run(rejected("worker", "the bean is not proxied"));
	}

	@Test
	void mockRegisteredAsSingletonIsIgnored() {
		this.contextRunner
			.withInitializer(
					(context) -> context.getBeanFactory().registerSingleton("worker", Mockito.mock(Gate.class)))
			.run((context) -> {
				assertThat(context).hasNotFailed();
				assertThat(context.getBean(FakeLeaderElector.class).tasks()).isEmpty();
			});
	}

	@Test
	void innerObjectIsRejected() {
		this.contextRunner.withUserConfiguration(InnerBean.class)
			.run(rejected("inner", "is in an object that is not a bean of its own"));
	}

	@Test
	void methodThatIsNotInAnInterfaceOfJdkProxyIsRejected() {
		this.contextRunner.withPropertyValues("spring.aop.proxy-target-class=false")
			.withBean("worker", NotInInterface.class)
			.run(rejected("worker", "is not in any interface of the bean, which has a JDK proxy"));
	}

	@Test
	void annotatedInterfaceThatOnlyTheProxyImplementsIsRejected() {
		this.contextRunner.withBean("worker", RepositoryLikeFactoryBean.class)
			.run(rejected("worker", "is declared by an interface of a proxy"));
	}

	@Test
	void contradictorySettingsOfOneRoleAreRejected() {
		this.contextRunner.withBean("first", TtlOf30Seconds.class)
			.withBean("second", TtlOf60Seconds.class)
			.run(rejected("second", "states leaseTtl 'PT1M' for role 'role', and 'first.gate()' states 'PT30S'"));
	}

	@Test
	void settingsStatedOnceGoForAllMethodsOfTheRole() {
		this.contextRunner.withBean("first", TtlOf30Seconds.class).withBean("second", Run.class).run((context) -> {
			assertThat(context).hasNotFailed();
			assertThat(context.getBean(FakeLeaderElector.class).tasks("role")).hasSize(2)
				.allSatisfy((task) -> assertThat(task.settings()).isNotNull());
		});
	}

	@Test
	void settingsThatDoNotFitAreRejectedNamingTheMethod() {
		assertRejected(RenewIntervalTooLong.class, "gives role 'role' settings that do not fit");
	}

	@Test
	void gateFoundOnlyWhenItsLazyBeanIsCreatedIsRegisteredThen() {
		this.contextRunner.withUserConfiguration(LazyBehindInterface.class).run((context) -> {
			FakeLeaderElector elector = context.getBean(FakeLeaderElector.class);
			assertThat(elector.tasks()).isEmpty();
			Job job = context.getBean(Job.class);
			assertThat(elector.tasks("role")).hasSize(1);
			job.work();
			assertThat(context.getBean(FencedLeaderMethodRegistry.class).getSkippedCalls("role")).isOne();
		});
	}

	@Test
	void runMethodFoundOnlyWhenItsLazyBeanIsCreatedIsRejectedThen() {
		this.contextRunner.withUserConfiguration(LazyRunBehindInterface.class)
			.run((context) -> assertThatExceptionOfType(RuntimeException.class)
				.isThrownBy(() -> context.getBean(Job.class))
				.havingRootCause()
				.isInstanceOf(InvalidFencedLeaderException.class)
				.withMessageContaining("'worker'")
				.withMessageContaining("its bean is created lazily"));
	}

	private void assertRejected(Class<?> type, String reason) {
		this.contextRunner.withBean("worker", type).run(rejected("worker", reason));
	}

	private void assertAccepted(Class<?> type) {
		this.contextRunner.withBean("worker", type).run((context) -> {
			assertThat(context).hasNotFailed();
			assertThat(context.getBean(FakeLeaderElector.class).tasks("role")).hasSize(1);
		});
	}

	private static ContextConsumer<AssertableApplicationContext> rejected(String beanName, String reason) {
		return (context) -> {
			assertThat(context).hasFailed();
			assertThat(rejection(context.getStartupFailure())).isNotNull().satisfies((ex) -> {
				assertThat(ex.getProblem()).startsWith("@FencedLeader method '").contains("of bean '" + beanName);
				assertThat(ex).hasMessageContaining(reason);
				assertThat(ex.getRemedy()).isNotBlank();
			});
		};
	}

	private static InvalidFencedLeaderException rejection(Throwable failure) {
		for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
			if (cause instanceof InvalidFencedLeaderException exception) {
				return exception;
			}
		}
		throw new AssertionError("Failed for another reason", failure);
	}

	static class PrivateMethod {

		@FencedLeader("role")
		@SuppressWarnings("unused")
		private void work() {
		}

	}

	static class StaticMethod {

		@FencedLeader("role")
		static void work() {
		}

	}

	static class FinalMethod {

		@FencedLeader("role")
		final void work() {
		}

	}

	static final class FinalClass {

		@FencedLeader("role")
		void work() {
		}

	}

	static class InheritsFromOtherPackage extends HasPackagePrivateMethod {

	}

	static class RunWithResult {

		@FencedLeader("role")
		String work() {
			return "";
		}

	}

	static class RunWithStringParameter {

		@FencedLeader("role")
		void work(String text) {
		}

	}

	static class RunWithTwoParameters {

		@FencedLeader("role")
		void work(Leadership leadership, long token) {
		}

	}

	static class EventListenerToRun {

		@EventListener
		@FencedLeader("role")
		void work(String event) {
		}

	}

	static class ScheduledRun {

		@Scheduled(fixedDelay = 1000)
		@FencedLeader(role = "role", mode = Mode.RUN)
		void work() {
		}

	}

	static class ScheduledGateWithParameter {

		@Scheduled(fixedDelay = 1000)
		@FencedLeader("role")
		void work(long token) {
		}

	}

	static class PrimitiveGate {

		@FencedLeader(role = "role", mode = Mode.GATE)
		int work() {
			return 1;
		}

	}

	static class PrimitiveThrowingGate {

		@FencedLeader(role = "role", mode = Mode.GATE, otherwise = Otherwise.THROW)
		int work() {
			return 1;
		}

	}

	static class AsyncMethod {

		@Async
		@FencedLeader("role")
		void work() {
		}

	}

	@Async
	static class AsyncClass {

		@FencedLeader(role = "role", mode = Mode.GATE)
		void work() {
		}

	}

	static class TransactionalRun {

		@Transactional
		@FencedLeader("role")
		void work() {
		}

	}

	@Transactional
	static class TransactionalClass {

		@FencedLeader("role")
		void work() {
		}

	}

	static class TransactionalGate {

		@Transactional
		@FencedLeader(role = "role", mode = Mode.GATE)
		void work() {
		}

	}

	static class ReturnsFuture {

		@FencedLeader(role = "role", mode = Mode.GATE)
		Future<String> work() {
			return CompletableFuture.completedFuture("");
		}

	}

	static class ReturnsCompletableFuture {

		@FencedLeader(role = "role", mode = Mode.GATE, otherwise = Otherwise.THROW)
		CompletableFuture<String> work() {
			return CompletableFuture.completedFuture("");
		}

	}

	static class ReturnsMono {

		@FencedLeader(role = "role", mode = Mode.GATE)
		Mono<Void> work() {
			return Mono.empty();
		}

	}

	static class ReturnsPublisher {

		@FencedLeader(role = "role", mode = Mode.GATE)
		Publisher<String> work() {
			return Mono.empty();
		}

	}

	static class ReturnsCallable {

		@FencedLeader(role = "role", mode = Mode.GATE)
		Callable<String> work() {
			return () -> "";
		}

	}

	static class ReturnsStream {

		@FencedLeader(role = "role", mode = Mode.GATE)
		Stream<String> work() {
			return Stream.of();
		}

	}

	static class Suspending {

		@FencedLeader(role = "role", mode = Mode.GATE)
		Object work(Continuation<String> continuation) {
			return "";
		}

	}

	static class SkippingMessageListener {

		@JmsListener(destination = "queue")
		@FencedLeader(role = "role", mode = Mode.GATE)
		void work(String message) {
		}

	}

	static class ThrowingMessageListener {

		@JmsListener(destination = "queue")
		@FencedLeader(role = "role", mode = Mode.GATE, otherwise = Otherwise.THROW)
		void work(String message) {
		}

	}

	static class MessageListenerToRun {

		@JmsListener(destination = "queue")
		@FencedLeader("role")
		void work() {
		}

	}

	static class GatedEventListener {

		@EventListener
		@FencedLeader(role = "role", mode = Mode.GATE)
		void work(String event) {
		}

	}

	static class NoRole {

		@FencedLeader
		void work() {
		}

	}

	static class EmptyPlaceholderRole {

		@FencedLeader("${no.such.property:}")
		void work() {
		}

	}

	static class InvalidRole {

		@FencedLeader("my role")
		void work() {
		}

	}

	static class InvalidDuration {

		@FencedLeader(role = "role", leaseTtl = "soon")
		void work() {
		}

	}

	static class Gate {

		@FencedLeader(role = "role", mode = Mode.GATE)
		void gate() {
		}

	}

	static class Run {

		@FencedLeader("role")
		void run() {
		}

	}

	static class TtlOf30Seconds {

		@FencedLeader(role = "role", mode = Mode.GATE, leaseTtl = "30s")
		void gate() {
		}

	}

	static class TtlOf60Seconds {

		@FencedLeader(role = "role", mode = Mode.GATE, leaseTtl = "PT1M")
		void gate() {
		}

	}

	static class RenewIntervalTooLong {

		@FencedLeader(role = "role", leaseTtl = "10s", renewInterval = "5s")
		void work() {
		}

	}

	interface Job {

		void work();

	}

	static class GateJob implements Job {

		@Override
		@FencedLeader(role = "role", mode = Mode.GATE)
		public void work() {
			throw new IllegalStateException("The gate is open");
		}

	}

	static class RunJob implements Job {

		@Override
		@FencedLeader("role")
		public void work() {
		}

	}

	static class NotInInterface implements Runnable {

		@Override
		public void run() {
		}

		@FencedLeader("role")
		public void work() {
		}

	}

	interface RepositoryLike {

		@FencedLeader(role = "role", mode = Mode.GATE)
		void deleteAll();

	}

	static class RepositoryLikeFactoryBean implements FactoryBean<RepositoryLike> {

		@Override
		public RepositoryLike getObject() {
			ProxyFactory proxyFactory = new ProxyFactory();
			proxyFactory.setInterfaces(RepositoryLike.class);
			proxyFactory.setTarget(new Object());
			proxyFactory.addAdvice((MethodInterceptor) (invocation) -> null);
			return (RepositoryLike) proxyFactory.getProxy();
		}

		@Override
		public Class<?> getObjectType() {
			return RepositoryLike.class;
		}

	}

	static class PrototypeFactoryBean implements FactoryBean<Gate> {

		@Override
		public Gate getObject() {
			return new Gate();
		}

		@Override
		public Class<?> getObjectType() {
			return Gate.class;
		}

		@Override
		public boolean isSingleton() {
			return false;
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableScheduling
	static class Scheduling {

	}

	@Configuration(proxyBeanMethods = false)
	static class ScopedBean {

		@Bean
		@Scope(scopeName = "prototype", proxyMode = ScopedProxyMode.TARGET_CLASS)
		Gate worker() {
			return new Gate();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class EarlyBean {

		@Bean
		Gate worker() {
			return new Gate();
		}

		@Bean
		static DependingPostProcessor dependingPostProcessor(Gate worker) {
			return new DependingPostProcessor(worker);
		}

	}

	record DependingPostProcessor(Gate worker) implements BeanPostProcessor, PriorityOrdered {

		@Override
		public int getOrder() {
			return 0;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class InnerBean {

		@Bean
		static BeanDefinitionRegistryPostProcessor innerBeanRegistrar() {
			return (registry) -> {
				RootBeanDefinition outer = new RootBeanDefinition(Holder.class);
				outer.getConstructorArgumentValues()
					.addGenericArgumentValue(new BeanDefinitionHolder(new RootBeanDefinition(Gate.class), "inner"));
				registry.registerBeanDefinition("outer", outer);
			};
		}

	}

	record Holder(Gate gate) {

	}

	@Configuration(proxyBeanMethods = false)
	static class LazyBehindInterface {

		@Bean
		@Lazy
		Job worker() {
			return new GateJob();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class LazyRunBehindInterface {

		@Bean
		@Lazy
		Job worker() {
			return new RunJob();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ElectorConfiguration {

		@Bean
		FakeLeaderElector leaderElector() {
			return new FakeLeaderElector();
		}

		@Bean
		RoleSettingsResolver roleSettingsResolver() {
			return (role, declared) -> declared.isEmpty() ? null : RoleSettings.of(declared.leaseTtl(),
					declared.renewInterval(), null, null, declared.stallTimeout());
		}

	}

}
