package io.github.fencedleadership.propagation;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import io.micrometer.context.ContextExecutorService;
import io.micrometer.context.ContextRegistry;
import io.micrometer.context.ContextSnapshotFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.task.TaskExecutionAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;

import io.github.fencedleadership.fencing.FencingContext;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.TestTerm;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of how the terms that a thread acts in follow its work to other threads.
 */
class FencingContextPropagationTests {

	private static final int PATIENCE = 30;

	private final TestTerm term = new TestTerm("reports", 3);

	private final ContextSnapshotFactory snapshots = ContextSnapshotFactory.builder().build();

	private final ExecutorService pool = Executors.newSingleThreadExecutor();

	@AfterEach
	void shutDown() throws InterruptedException {
		this.pool.shutdownNow();
		assertThat(this.pool.awaitTermination(PATIENCE, TimeUnit.SECONDS)).isTrue();
		assertThat(FencingToken.current()).isEmpty();
	}

	@Test
	void accessorIsFoundWithoutConfiguration() {
		assertThat(ContextRegistry.getInstance().getThreadLocalAccessors())
			.anyMatch(FencingContextThreadLocalAccessor.class::isInstance);
	}

	@Test
	void asyncMethodActsInTheTermOfItsCallerWithBootsContextPropagation() {
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(TaskExecutionAutoConfiguration.class))
			.withPropertyValues("spring.task.execution.propagate-context=true",
					"spring.task.execution.pool.core-size=1", "spring.task.execution.pool.max-size=1")
			.withUserConfiguration(AsyncConfiguration.class)
			.withBean(AsyncBean.class)
			.run((context) -> {
				AsyncBean bean = context.getBean(AsyncBean.class);
				CompletableFuture<String> caller = bean.look();
				assertThat(get(caller)).isEmpty();
				try (FencingContext.Scope scope = this.term.enter()) {
					assertThat(get(bean.look())).isEqualTo("reports#3");
				}
				assertThat(get(bean.look())).as("the same thread of the pool afterwards").isEmpty();
				ThreadPoolTaskExecutor executor = context.getBean(ThreadPoolTaskExecutor.class);
				assertThat(executor.getThreadPoolExecutor().getLargestPoolSize()).isOne();
			});
	}

	@Test
	void asyncMethodActsInNoTermWithoutContextPropagation() {
		new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(TaskExecutionAutoConfiguration.class))
			.withUserConfiguration(AsyncConfiguration.class)
			.withBean(AsyncBean.class)
			.run((context) -> {
				try (FencingContext.Scope scope = this.term.enter()) {
					assertThat(get(context.getBean(AsyncBean.class).look())).isEmpty();
				}
			});
	}

	@Test
	void futureOnAWrappedExecutorActsInTheTermOfWhoeverSubmittedIt() {
		ExecutorService wrapped = ContextExecutorService.wrap(this.pool, this.snapshots::captureAll);
		try (FencingContext.Scope scope = this.term.enter()) {
			CompletableFuture<String> future = CompletableFuture
				.supplyAsync(FencingContextPropagationTests::current, wrapped)
				.thenApplyAsync((seen) -> seen + " " + current(), wrapped);
			assertThat(get(future)).isEqualTo("reports#3 reports#3");
		}
		assertThat(get(this.pool.submit(FencingContextPropagationTests::current)))
			.as("the same thread of the pool afterwards")
			.isEmpty();
		assertThat(get(this.pool.submit(() -> Optional.ofNullable(FencingContext.capture()).isPresent()))).isFalse();
	}

	@Test
	void nestedTermsAreTakenAlongWithTheirOrder() {
		ExecutorService wrapped = ContextExecutorService.wrap(this.pool, this.snapshots::captureAll);
		try (FencingContext.Scope outer = this.term.enter();
				FencingContext.Scope inner = new TestTerm("cleanup", 8).enter()) {
			assertThat(get(wrapped.submit(() -> current() + " " + FencingToken.current("reports").orElseThrow())))
				.isEqualTo("cleanup#8 reports#3");
		}
	}

	@Test
	void threadActsInNoTermAnyMoreOnceTheWorkOfTheTermHasEnded() throws InterruptedException {
		ExecutorService wrapped = ContextExecutorService.wrap(this.pool, this.snapshots::captureAll);
		CountDownLatch started = new CountDownLatch(1);
		CountDownLatch ended = new CountDownLatch(1);
		Future<String> outlivesTheWork;
		try (FencingContext.Scope scope = this.term.enter()) {
			outlivesTheWork = wrapped.submit(() -> {
				String before = current();
				started.countDown();
				ended.await();
				return before + "," + current();
			});
			assertThat(started.await(PATIENCE, TimeUnit.SECONDS)).isTrue();
		}
		this.term.end();
		ended.countDown();
		assertThat(get(outlivesTheWork)).isEqualTo("reports#3,");
	}

	@Test
	void contextOfThePooledThreadIsPutBack() {
		ExecutorService wrapped = ContextExecutorService.wrap(this.pool, this.snapshots::captureAll);
		TestTerm own = new TestTerm("cleanup", 8);
		FencingContext.Scope[] ofThread = new FencingContext.Scope[1];
		get(this.pool.submit(() -> ofThread[0] = own.enter()));
		try (FencingContext.Scope scope = this.term.enter()) {
			assertThat(get(wrapped.submit(FencingContextPropagationTests::current))).isEqualTo("reports#3");
		}
		assertThat(get(this.pool.submit(FencingContextPropagationTests::current))).isEqualTo("cleanup#8");
	}

	@Test
	void virtualThreadActsInTheTermOfWhoeverSubmittedItsTask() {
		ExecutorService virtual = virtualThreads();
		try {
			ExecutorService wrapped = ContextExecutorService.wrap(virtual, this.snapshots::captureAll);
			try (FencingContext.Scope scope = this.term.enter()) {
				assertThat(get(wrapped.submit(FencingContextPropagationTests::current))).isEqualTo("reports#3");
				assertThat(get(virtual.submit(FencingContextPropagationTests::current))).isEmpty();
			}
			assertThat(get(wrapped.submit(FencingContextPropagationTests::current))).isEmpty();
		}
		finally {
			virtual.shutdownNow();
		}
	}

	private static ExecutorService virtualThreads() {
		try {
			Method factory = Executors.class.getMethod("newVirtualThreadPerTaskExecutor");
			return (ExecutorService) factory.invoke(null);
		}
		catch (NoSuchMethodException ex) {
			System.out.printf("Virtual threads are not tested: Java %s has none%n", Runtime.version().feature());
			return Assumptions.abort("Java has no virtual threads");
		}
		catch (IllegalAccessException | InvocationTargetException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static String current() {
		return FencingToken.current().map(FencingToken::toString).orElse("");
	}

	private static <T> T get(Future<T> future) {
		try {
			return future.get(PATIENCE, TimeUnit.SECONDS);
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAsync
	static class AsyncConfiguration {

	}

	static class AsyncBean {

		@Async
		public CompletableFuture<String> look() {
			return CompletableFuture.completedFuture(current());
		}

	}

}
