package io.github.fencedleadership.autoconfigure;

import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;

import io.github.fencedleadership.annotation.FencedLeader;
import io.github.fencedleadership.annotation.FencedWrite;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.fencing.FencingGuard;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.InMemoryFencingGuard;
import io.github.fencedleadership.fencing.NoFencingTokenException;
import io.github.fencedleadership.fencing.StaleFencingTokenException;
import io.github.fencedleadership.jdbc.FencedTransactionTemplate;
import io.github.fencedleadership.jdbc.JdbcFencingGuard;
import io.github.fencedleadership.lease.LeaseStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link FencedLeadershipFencingAutoConfiguration}.
 */
class FencedLeadershipFencingAutoConfigurationTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class,
				DataSourceTransactionManagerAutoConfiguration.class, TransactionAutoConfiguration.class,
				JdbcTemplateAutoConfiguration.class, FencedLeadershipAutoConfiguration.class,
				FencedLeadershipJdbcAutoConfiguration.class, FencedLeadershipFencingAutoConfiguration.class,
				FencedLeadershipTransactionAutoConfiguration.class))
		.withPropertyValues("spring.datasource.url=jdbc:h2:mem:" + UUID.randomUUID());

	@Test
	void guardsWritesToTheDataSource() {
		this.contextRunner.run((context) -> {
			assertThat(context).hasSingleBean(JdbcFencingGuard.class).hasSingleBean(FencedTransactionTemplate.class);
			assertThat(context.getBean(JdbcFencingGuard.class).isLeaseVisible()).isTrue();
		});
	}

	@Test
	void backsOffFromAGuardOfTheUsers() {
		this.contextRunner.withBean("mine", FencingGuard.class, InMemoryFencingGuard::new)
			.run((context) -> assertThat(context).hasSingleBean(FencingGuard.class).hasBean("mine"));
	}

	@Test
	void guardsInMemoryNextToLeasesInMemory() {
		this.contextRunner.withPropertyValues("fenced-leadership.store=memory").run((context) -> {
			assertThat(context).hasSingleBean(FencingGuard.class).hasSingleBean(InMemoryFencingGuard.class);
			long token = context.getBean(LeaseStore.class)
				.tryAcquireOrRenew("reports", "a", Duration.ofMinutes(1))
				.fencingToken();
			context.getBean(FencingGuard.class).check("ledger", new FencingToken("reports", token));
		});
	}

	@Test
	void guardsAlsoWhereNobodyLeads() {
		this.contextRunner.withPropertyValues("fenced-leadership.enabled=false")
			.run((context) -> assertThat(context).hasSingleBean(JdbcFencingGuard.class));
	}

	@Test
	void hasNoGuardWithoutADataSource() {
		new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(FencedLeadershipAutoConfiguration.class,
					FencedLeadershipFencingAutoConfiguration.class))
			.withPropertyValues("fenced-leadership.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(FencingGuard.class));
	}

	@Test
	void refusesANegativeIdleTimeout() {
		this.contextRunner.withPropertyValues("fenced-leadership.fencing.idle-timeout=-1s")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("fenced-leadership.fencing.idle-timeout"));
	}

	@Test
	void theIdleTimeoutCanBeSwitchedOff() {
		this.contextRunner.withPropertyValues("fenced-leadership.fencing.idle-timeout=0")
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void fromTheAnnotationToTheRow() {
		this.contextRunner.withUserConfiguration(LedgerConfiguration.class).run((context) -> {
			Probe job = context.getBean(Probe.class);
			Ledger ledger = context.getBean(Ledger.class);
			Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> job.leadership.get() != null);
			Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> ledger.count() == 1);
			// Not in anybody's name
			assertThatExceptionOfType(NoFencingTokenException.class).isThrownBy(() -> ledger.append("nobody"));
			// The lease is taken away behind the leader's back, who has not noticed yet.
			LeaseStore leases = context.getBean(LeaseStore.class);
			Leadership leadership = job.leadership.get();
			String owner = leases.find("ledger").orElseThrow().ownerId();
			assertThat(leases.release("ledger", owner, leadership.fencingToken().value())).isTrue();
			assertThat(leases.tryAcquireOrRenew("ledger", "successor", Duration.ofMinutes(1)).acquired()).isTrue();
			assertThat(leadership.isHeld()).isTrue();
			job.goOn.countDown();
			Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> job.failure.get() != null);
			assertThat(job.failure.get()).isInstanceOf(StaleFencingTokenException.class);
			assertThat(ledger.count()).isOne();
		});
	}

	@Configuration(proxyBeanMethods = false)
	static class LedgerConfiguration {

		@Bean
		Ledger ledger(JdbcTemplate jdbc) {
			jdbc.execute("CREATE TABLE ledger (entry VARCHAR(100))");
			return new Ledger(jdbc);
		}

		@Bean
		Probe probe() {
			return new Probe();
		}

		@Bean
		Job job(Ledger ledger, Probe probe) {
			return new Job(ledger, probe);
		}

	}

	static class Ledger {

		private final JdbcTemplate jdbc;

		Ledger(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@FencedWrite("ledger")
		public void append(String entry) {
			this.jdbc.update("INSERT INTO ledger VALUES (?)", entry);
		}

		public long count() {
			return this.jdbc.queryForObject("SELECT count(*) FROM ledger", Long.class);
		}

	}

	static class Probe {

		private final AtomicReference<Leadership> leadership = new AtomicReference<>();

		private final AtomicReference<Throwable> failure = new AtomicReference<>();

		private final CountDownLatch goOn = new CountDownLatch(1);

	}

	static class Job {

		private final Ledger ledger;

		private final Probe probe;

		Job(Ledger ledger, Probe probe) {
			this.ledger = ledger;
			this.probe = probe;
		}

		@FencedLeader("ledger")
		public void run(Leadership leadership) throws InterruptedException {
			this.ledger.append("first");
			this.probe.leadership.set(leadership);
			this.probe.goOn.await();
			try {
				this.ledger.append("late");
			}
			catch (RuntimeException ex) {
				this.probe.failure.set(ex);
			}
		}

	}

}
