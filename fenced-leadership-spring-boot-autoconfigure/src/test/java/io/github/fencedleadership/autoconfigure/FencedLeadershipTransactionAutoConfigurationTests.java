package io.github.fencedleadership.autoconfigure;

import java.sql.Connection;
import java.time.Duration;
import java.util.List;

import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import io.github.fencedleadership.annotation.FencedWrite;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.fencing.FencingContext;
import io.github.fencedleadership.fencing.FencingGuard;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.InMemoryFencingGuard;
import io.github.fencedleadership.fencing.NoFencingTokenException;
import io.github.fencedleadership.fencing.StaleFencingTokenException;
import io.github.fencedleadership.fencing.TestTerm;
import io.github.fencedleadership.fencing.UnknownFencingTokenException;
import io.github.fencedleadership.jdbc.CountingTransactionManager;
import io.github.fencedleadership.jdbc.FencedTransactionTemplate;
import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.LeaseRequest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link FencedLeadershipTransactionAutoConfiguration}, and of fenced writes as
 * auto-configured.
 */
class FencedLeadershipTransactionAutoConfigurationTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(FencedLeadershipAutoConfiguration.class,
				FencedLeadershipFencingAutoConfiguration.class, FencedLeadershipTransactionAutoConfiguration.class,
				DataSourceAutoConfiguration.class, DataSourceTransactionManagerAutoConfiguration.class,
				TransactionAutoConfiguration.class))
		.withPropertyValues("fenced-leadership.store=memory", "spring.datasource.generate-unique-name=true");

	private final ApplicationContextRunner withoutGuard = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(FencedLeadershipAutoConfiguration.class,
				FencedLeadershipTransactionAutoConfiguration.class, DataSourceAutoConfiguration.class,
				DataSourceTransactionManagerAutoConfiguration.class, TransactionAutoConfiguration.class))
		.withPropertyValues("fenced-leadership.enabled=false", "spring.datasource.generate-unique-name=true");

	@Test
	void templateIsThereWithAGuardAndATransactionManager() {
		this.contextRunner.run((context) -> {
			FencedTransactionTemplate template = context.getBean(FencedTransactionTemplate.class);
			try (FencingContext.Scope scope = leadReports(context.getBean(InMemoryLeaseStore.class)).enter()) {
				assertThat(template.<Boolean>execute("ledger",
						(status) -> TransactionSynchronizationManager.isActualTransactionActive()))
					.isTrue();
			}
		});
	}

	@Test
	void templateOfTheUserIsUsed() {
		this.contextRunner
			.withBean("mine", FencedTransactionTemplate.class,
					() -> new FencedTransactionTemplate(new CountingTransactionManager(new NoDataSource()),
							new InMemoryFencingGuard()))
			.run((context) -> assertThat(context).hasSingleBean(FencedTransactionTemplate.class).hasBean("mine"));
	}

	@Test
	void thereIsNoTemplateWithoutAGuard() {
		this.withoutGuard
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(FencedTransactionTemplate.class));
	}

	@Test
	void thereIsNoTemplateWithSeveralTransactionManagers() {
		this.contextRunner
			.withBean("first", PlatformTransactionManager.class,
					() -> new CountingTransactionManager(new NoDataSource()))
			.withBean("second", PlatformTransactionManager.class,
					() -> new CountingTransactionManager(new NoDataSource()))
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(FencedTransactionTemplate.class));
	}

	@Test
	void everythingElseWorksWithoutTransactions() {
		new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(FencedLeadershipAutoConfiguration.class,
					FencedLeadershipTransactionAutoConfiguration.class))
			.withPropertyValues("fenced-leadership.store=memory")
			.withClassLoader(new FilteredClassLoader("org.springframework.transaction", "org.springframework.jdbc"))
			.run((context) -> assertThat(context).hasNotFailed().hasSingleBean(LeaderElector.class));
	}

	@Test
	void guardOfTheMemoryStoreSeesItsLeases() {
		this.contextRunner.run((context) -> {
			FencingGuard guard = context.getBean(FencingGuard.class);
			TestTerm term = leadReports(context.getBean(InMemoryLeaseStore.class));
			guard.check("ledger", term.fencingToken());
			assertThatExceptionOfType(UnknownFencingTokenException.class)
				.isThrownBy(() -> guard.check("ledger", new FencingToken("reports", 99)));
			context.getBean(InMemoryLeaseStore.class).release("reports", "node#1", 1);
			leadReports(context.getBean(InMemoryLeaseStore.class));
			assertThatExceptionOfType(StaleFencingTokenException.class)
				.isThrownBy(() -> guard.check("ledger", term.fencingToken()));
		});
	}

	@Test
	void guardOfTheUserIsUsed() {
		InMemoryFencingGuard guard = new InMemoryFencingGuard();
		this.contextRunner.withBean("userGuard", FencingGuard.class, () -> guard)
			.run((context) -> assertThat(context.getBean(FencingGuard.class)).isSameAs(guard));
	}

	@Test
	void annotatedMethodIsFencedWithBootsTransactions() {
		this.contextRunner.withBean("ledger", Ledger.class).run((context) -> {
			Ledger ledger = context.getBean(Ledger.class);
			assertThatExceptionOfType(NoFencingTokenException.class).isThrownBy(ledger::book);
			TestTerm term = leadReports(context.getBean(InMemoryLeaseStore.class));
			try (FencingContext.Scope scope = term.enter()) {
				assertThat(ledger.book()).isTrue();
				assertThat(ledger.bookTransactional()).isTrue();
			}
			assertThat(context.getBean(InMemoryFencingGuard.class).highestAccepted("ledger", "reports"))
				.isEqualTo(term.fencingToken());
		});
	}

	@Test
	void annotatedMethodWithoutGuardFailsTheStart() {
		this.withoutGuard.withBean("ledger", Ledger.class).run((context) -> {
			assertThat(context).hasFailed();
			assertThat(new InvalidFencedMethodFailureAnalyzer().analyze(context.getStartupFailure()))
				.satisfies((analysis) -> {
					assertThat(analysis.getDescription()).contains("@FencedWrite method '")
						.contains("of bean 'ledger' needs one FencingGuard");
					assertThat(analysis.getAction()).contains("'fenced-leadership.store'");
				});
		});
	}

	private static TestTerm leadReports(InMemoryLeaseStore store) {
		return new TestTerm("reports",
				store.tryAcquireOrRenew("node#1", List.of(LeaseRequest.acquire("reports", Duration.ofMinutes(1), 0)))
					.get(0)
					.fencingToken());
	}

	static class Ledger {

		@FencedWrite("ledger")
		boolean book() {
			return TransactionSynchronizationManager.isActualTransactionActive();
		}

		@Transactional
		@FencedWrite("ledger")
		boolean bookTransactional() {
			return TransactionSynchronizationManager.isActualTransactionActive();
		}

	}

	static class NoDataSource extends AbstractDataSource {

		@Override
		public Connection getConnection() {
			throw new UnsupportedOperationException();
		}

		@Override
		public Connection getConnection(String username, String password) {
			throw new UnsupportedOperationException();
		}

	}

}
