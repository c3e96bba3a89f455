package io.github.fencedleadership.annotation;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.stream.Stream;

import javax.sql.DataSource;

import kotlin.coroutines.Continuation;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.Mockito;
import reactor.core.publisher.Mono;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.ContextConsumer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.core.Ordered;
import org.springframework.core.PriorityOrdered;
import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.TransactionManagementConfigurer;
import org.springframework.transaction.annotation.Transactional;

import io.github.fencedleadership.fencing.FencingGuard;
import io.github.fencedleadership.fencing.InMemoryFencingGuard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests of what is rejected at start-up, or when a bean is created later.
 */
class FencedWriteValidationTests {

	private final ApplicationContextRunner bare = new ApplicationContextRunner()
		.withUserConfiguration(FencedWriteConfiguration.class);

	private final ApplicationContextRunner contextRunner = this.bare
		.withUserConfiguration(TransactionConfiguration.class)
		.withBean("guard", InMemoryFencingGuard.class);

	// The method

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
	void asyncMethodIsRejected() {
		assertRejected(AsyncMethod.class, "is @Async");
	}

	@Test
	void kotlinSuspendingFunctionIsRejected() {
		assertRejected(Suspending.class, "is a suspending function");
	}

	@ParameterizedTest
	@ValueSource(classes = { ReturnsFuture.class, ReturnsCompletableFuture.class, ReturnsMono.class,
			ReturnsCallable.class, ReturnsStream.class })
	void resultThatIsMadeLaterIsRejected(Class<?> type) {
		assertRejected(type, "whose work would go on outside of the transaction");
	}

	@Test
	void methodThatIsRunForAWholeTermIsRejected() {
		this.contextRunner.withUserConfiguration(FencedLeaderConfiguration.class)
			.withBean(FakeLeaderElector.class)
			.withBean(RoleSettingsResolver.class, () -> (role, declared) -> null)
			.withBean("ledger", RunMethod.class)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(InvalidFencedLeaderException.class)
				.hasMessageContaining(
						"is @FencedWrite, so that a single transaction would stay open for a whole term"));
	}

	// Attributes

	@ParameterizedTest
	@ValueSource(classes = { NoResource.class, EmptyPlaceholder.class })
	void missingResourceIsRejected(Class<?> type) {
		assertRejected(type, "names no resource");
	}

	@Test
	void invalidResourceIsRejected() {
		assertRejected(InvalidResource.class, "names an invalid resource: Resource name 'led?ger'");
	}

	@ParameterizedTest
	@ValueSource(strings = { "my role", "a/b/c", "/reports", "orders/" })
	void invalidRoleIsRejected(String role) {
		this.contextRunner.withBean("ledger", PlaceholderRole.class)
			.withPropertyValues("role=" + role)
			.run(rejected("ledger", "names the invalid role '%s'".formatted(role)));
	}

	@Test
	void unknownTransactionManagerIsRejected() {
		assertRejected(UnknownTransactionManager.class,
				"names the transaction manager 'no-such-bean', and there is no such bean");
	}

	// The transaction

	@Test
	void readOnlyTransactionIsRejected() {
		assertRejected(ReadOnly.class, "is @Transactional(readOnly = true)");
	}

	@ParameterizedTest
	@ValueSource(classes = { Supports.class, NotSupported.class, Never.class })
	void propagationThatNeedsNoTransactionIsRejected(Class<?> type) {
		assertRejected(type, "with a propagation that may run it without a transaction");
	}

	@Test
	void transactionalThatNobodyProcessesIsRejected() {
		this.bare.withBean("guard", InMemoryFencingGuard.class)
			.withBean("first", PlatformTransactionManager.class, TransactionConfiguration::newTransactionManager)
			.withBean("ledger", TransactionalMethod.class)
			.run(rejected("ledger", "is @Transactional, and no proxy of its bean begins a transaction"));
	}

	@Test
	void checkOutsideOfTheTransactionIsRejected() {
		this.contextRunner.withUserConfiguration(FreezingConfiguration.class)
			.withBean("ledger", TransactionalMethod.class)
			.run(rejected("ledger", "would be checked outside of its transaction"));
	}

	@Test
	void otherTransactionManagerThanThatOfTheTransactionIsRejected() {
		this.contextRunner
			.withBean("second", PlatformTransactionManager.class, TransactionConfiguration::newTransactionManager)
			.withBean("ledger", ContradictoryTransactionManagers.class)
			.run(rejected("ledger", "names the transaction manager 'second', and its @Transactional uses another"));
	}

	@Test
	void missingTransactionManagerIsRejected() {
		this.bare.withBean("guard", InMemoryFencingGuard.class)
			.withBean("ledger", Plain.class)
			.run(rejected("ledger", "needs a transaction manager, and there is none, or several"));
	}

	@Test
	void ambiguousTransactionManagerIsRejected() {
		this.contextRunner
			.withBean("second", PlatformTransactionManager.class, TransactionConfiguration::newTransactionManager)
			.withBean("ledger", Plain.class)
			.run(rejected("ledger", "needs a transaction manager, and there is none, or several"));
	}

	@Test
	void transactionManagerOfAConfigurerIsUsed() {
		this.contextRunner
			.withBean("second", PlatformTransactionManager.class, TransactionConfiguration::newTransactionManager)
			.withUserConfiguration(ConfigurerConfiguration.class)
			.withBean("ledger", Plain.class)
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void reactiveTransactionManagerIsRejected() {
		this.bare.withBean("guard", InMemoryFencingGuard.class)
			.withBean("reactive", ReactiveTransactionManager.class,
					() -> Mockito.mock(ReactiveTransactionManager.class))
			.withBean("ledger", Plain.class)
			.run(rejected("ledger", "needs a PlatformTransactionManager, and has '"));
	}

	@Test
	void missingTransactionSupportIsRejected() {
		new ApplicationContextRunner().withClassLoader(new FilteredClassLoader("org.springframework.transaction"))
			.withUserConfiguration(FencedWriteConfiguration.class)
			.withBean("ledger", Plain.class)
			.run(rejected("ledger", "Spring's transaction support is not on the class path"));
	}

	// The guard

	@Test
	void missingGuardIsRejected() {
		this.bare.withUserConfiguration(TransactionConfiguration.class)
			.withBean("ledger", Plain.class)
			.run(rejected("ledger", "needs one FencingGuard, and there is none, or several"));
	}

	@Test
	void ambiguousGuardIsRejected() {
		this.bare.withUserConfiguration(TransactionConfiguration.class)
			.withBean("firstGuard", FencingGuard.class, InMemoryFencingGuard::new)
			.withBean("secondGuard", FencingGuard.class, InMemoryFencingGuard::new)
			.withBean("ledger", Plain.class)
			.run(rejected("ledger", "needs one FencingGuard, and there is none, or several"));
	}

	@Test
	void nothingIsNeededWhereNothingIsAnnotated() {
		this.bare.run((context) -> assertThat(context).hasNotFailed());
	}

	// The bean

	@Test
	void beanThatWasCreatedBeforePostProcessorsIsRejected() {
		this.contextRunner.withUserConfiguration(EarlyBean.class).run(rejected("ledger", "the bean is not proxied"));
	}

	@Test
	void objectRegisteredAsSingletonIsRejected() {
		this.contextRunner
			.withInitializer((context) -> context.getBeanFactory().registerSingleton("ledger", new Plain()))
			.run(rejected("ledger", "the bean is not proxied"));
	}

	@Test
	void mockRegisteredAsSingletonIsIgnored() {
		this.contextRunner
			.withInitializer(
					(context) -> context.getBeanFactory().registerSingleton("ledger", Mockito.mock(Plain.class)))
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void methodThatIsNotInAnInterfaceOfJdkProxyIsRejected() {
		this.contextRunner.withPropertyValues("spring.aop.proxy-target-class=false")
			.withBean("ledger", NotInInterface.class)
			.run(rejected("ledger", "is not in any interface of the bean, which has a JDK proxy"));
	}

	@Test
	void annotatedInterfaceThatOnlyTheProxyImplementsIsRejected() {
		this.contextRunner.withBean("ledger", RepositoryLikeFactoryBean.class)
			.run(rejected("ledger", "is declared by an interface of a proxy"));
	}

	@Test
	void prototypeIsRejectedAtStartUpByItsClass() {
		this.contextRunner
			.withBean("ledger", FinalMethod.class, FinalMethod::new, (definition) -> definition.setScope("prototype"))
			.run(rejected("ledger", "is final"));
	}

	@Test
	void prototypeThatDoesNotShowItsClassIsRejectedWhenItIsCreated() {
		this.contextRunner.withUserConfiguration(HiddenPrototype.class)
			.run((context) -> assertThatExceptionOfType(RuntimeException.class)
				.isThrownBy(() -> context.getBean(Runnable.class))
				.havingRootCause()
				.isInstanceOf(InvalidFencedWriteException.class)
				.withMessageContaining("is @Transactional(readOnly = true)"));
	}

	@Test
	void lazyBeanWithoutGuardIsRejectedAtTheLatestWhenItIsCreated() {
		this.bare.withUserConfiguration(TransactionConfiguration.class, HiddenLazyBean.class).run((context) -> {
			assertThat(context).hasNotFailed();
			assertThatExceptionOfType(RuntimeException.class).isThrownBy(() -> context.getBean(Runnable.class))
				.havingRootCause()
				.withMessageContaining("FencingGuard");
		});
	}

	private void assertRejected(Class<?> type, String reason) {
		this.contextRunner.withBean("ledger", type).run(rejected("ledger", reason));
	}

	private static ContextConsumer<AssertableApplicationContext> rejected(String beanName, String reason) {
		return (context) -> {
			assertThat(context).hasFailed();
			assertThat(rejection(context.getStartupFailure())).isNotNull().satisfies((ex) -> {
				assertThat(ex.getProblem()).startsWith("@FencedWrite method '").contains("of bean '" + beanName);
				assertThat(ex).hasMessageContaining(reason);
				assertThat(ex.getRemedy()).isNotBlank();
			});
		};
	}

	private static InvalidFencedWriteException rejection(Throwable failure) {
		for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
			if (cause instanceof InvalidFencedWriteException exception) {
				return exception;
			}
		}
		throw new AssertionError("Failed for another reason", failure);
	}

	static class Plain {

		@FencedWrite("ledger")
		void book() {
		}

	}

	static class PrivateMethod {

		@FencedWrite("ledger")
		@SuppressWarnings("unused")
		private void book() {
		}

	}

	static class StaticMethod {

		@FencedWrite("ledger")
		static void book() {
		}

	}

	static class FinalMethod {

		@FencedWrite("ledger")
		final void book() {
		}

	}

	static final class FinalClass {

		@FencedWrite("ledger")
		void book() {
		}

	}

	static class AsyncMethod {

		@Async
		@FencedWrite("ledger")
		void book() {
		}

	}

	static class Suspending {

		@FencedWrite("ledger")
		Object book(Continuation<String> continuation) {
			return "";
		}

	}

	static class ReturnsFuture {

		@FencedWrite("ledger")
		Future<String> book() {
			return CompletableFuture.completedFuture("");
		}

	}

	static class ReturnsCompletableFuture {

		@FencedWrite("ledger")
		CompletableFuture<String> book() {
			return CompletableFuture.completedFuture("");
		}

	}

	static class ReturnsMono {

		@FencedWrite("ledger")
		Mono<Void> book() {
			return Mono.empty();
		}

	}

	static class ReturnsCallable {

		@FencedWrite("ledger")
		Callable<String> book() {
			return () -> "";
		}

	}

	static class ReturnsStream {

		@FencedWrite("ledger")
		Stream<String> book() {
			return Stream.of();
		}

	}

	static class RunMethod {

		@FencedLeader("reports")
		@FencedWrite("ledger")
		void book() {
		}

	}

	static class NoResource {

		@FencedWrite
		void book() {
		}

	}

	static class EmptyPlaceholder {

		@FencedWrite("${no.such.property:}")
		void book() {
		}

	}

	static class InvalidResource {

		@FencedWrite("led\nger")
		void book() {
		}

	}

	static class PlaceholderRole {

		@FencedWrite(resource = "ledger", role = "${role}")
		void book() {
		}

	}

	static class UnknownTransactionManager {

		@FencedWrite(resource = "ledger", transactionManager = "no-such-bean")
		void book() {
		}

	}

	static class TransactionalMethod {

		@Transactional
		@FencedWrite("ledger")
		void book() {
		}

	}

	static class ReadOnly implements Runnable {

		@Override
		@Transactional(readOnly = true)
		@FencedWrite("ledger")
		public void run() {
		}

	}

	static class Supports {

		@Transactional(propagation = Propagation.SUPPORTS)
		@FencedWrite("ledger")
		void book() {
		}

	}

	static class NotSupported {

		@Transactional(propagation = Propagation.NOT_SUPPORTED)
		@FencedWrite("ledger")
		void book() {
		}

	}

	@Transactional(propagation = Propagation.NEVER)
	static class Never {

		@FencedWrite("ledger")
		void book() {
		}

	}

	static class ContradictoryTransactionManagers {

		@Transactional("first")
		@FencedWrite(resource = "ledger", transactionManager = "second")
		void book() {
		}

	}

	static class NotInInterface implements Runnable {

		@Override
		public void run() {
		}

		@FencedWrite("ledger")
		public void book() {
		}

	}

	interface RepositoryLike {

		@FencedWrite("ledger")
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

	static class PlainJob implements Runnable {

		@Override
		@FencedWrite("ledger")
		public void run() {
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement(proxyTargetClass = true)
	static class TransactionConfiguration {

		@Bean
		PlatformTransactionManager first() {
			return newTransactionManager();
		}

		static PlatformTransactionManager newTransactionManager() {
			DataSource dataSource = Mockito.mock(AbstractDataSource.class);
			return new DataSourceTransactionManager(dataSource);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ConfigurerConfiguration {

		@Bean
		TransactionManagementConfigurer configurer(PlatformTransactionManager first) {
			return () -> first;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class FreezingConfiguration {

		@Bean
		static Freezer freezer() {
			return new Freezer();
		}

	}

	/**
	 * Wraps the transactional proxy of a bean in one that nothing can be added to.
	 */
	static class Freezer implements BeanPostProcessor, Ordered {

		@Override
		public int getOrder() {
			// Right after the transactional proxy is created
			return HIGHEST_PRECEDENCE + 1;
		}

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			if (beanName.equals("ledger")) {
				ProxyFactory proxyFactory = new ProxyFactory(bean);
				proxyFactory.setProxyTargetClass(true);
				proxyFactory.setFrozen(true);
				return proxyFactory.getProxy();
			}
			return bean;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class EarlyBean {

		@Bean
		Plain ledger() {
			return new Plain();
		}

		@Bean
		static DependingPostProcessor dependingPostProcessor(Plain ledger) {
			return new DependingPostProcessor(ledger);
		}

	}

	record DependingPostProcessor(Plain ledger) implements BeanPostProcessor, PriorityOrdered {

		@Override
		public int getOrder() {
			return 0;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class HiddenPrototype {

		@Bean
		@Scope("prototype")
		Runnable ledger() {
			return new ReadOnly();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class HiddenLazyBean {

		@Bean
		@Lazy
		Runnable ledger() {
			return new PlainJob();
		}

	}

}
