package io.github.fencedleadership.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

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
import io.github.fencedleadership.jdbc.MissingFencingTableException;
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

	@ParameterizedTest
	@ValueSource(strings = { "1ns", "30d" })
	void refusesAnIdleTimeoutThatNoDatabaseCountsTo(String idleTimeout) {
		this.contextRunner.withPropertyValues("fenced-leadership.fencing.idle-timeout=" + idleTimeout)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("'fenced-leadership.fencing.idle-timeout'")
				.hasMessageContaining("'" + DurationStyle.detectAndParse(idleTimeout) + "'"));
	}

	@Test
	void guardsInMemoryAlsoWhereNobodyLeads() {
		this.contextRunner.withPropertyValues("fenced-leadership.enabled=false", "fenced-leadership.store=memory")
			.run((context) -> {
				FencingGuard guard = context.getBean(InMemoryFencingGuard.class);
				guard.check("ledger", new FencingToken("reports", 7));
				assertThatExceptionOfType(StaleFencingTokenException.class)
					.isThrownBy(() -> guard.check("ledger", new FencingToken("reports", 6)));
			});
	}

	@Test
	void createsItsTableWhereItIsWrittenToAndTheLeasesAreElsewhere() {
		this.contextRunner.withUserConfiguration(LeasesElsewhereConfiguration.class)
			.withPropertyValues("fenced-leadership.jdbc.table-prefix=my_")
			.run((context) -> {
				assertThat(tables(context.getBean("written", DataSource.class))).containsExactly("MY_RESOURCE");
				assertThat(tables(context.getBean("leases", DataSource.class))).containsExactly("MY_HISTORY",
						"MY_LEASE", "MY_NODE");
				assertThat(context.getBean(JdbcFencingGuard.class).isLeaseVisible()).isFalse();
				JdbcTransactionManager transactionManager = new JdbcTransactionManager(
						context.getBean("written", DataSource.class));
				new TransactionTemplate(transactionManager)
					.executeWithoutResult((status) -> context.getBean(FencingGuard.class)
						.check("ledger", new FencingToken("reports", 3)));
			});
	}

	@Test
	void createsItsTableAlsoWhereNobodyLeads() {
		this.contextRunner.withPropertyValues("fenced-leadership.enabled=false")
			.run((context) -> assertThat(tables(context.getBean(DataSource.class))).containsExactly("FENCED_RESOURCE"));
	}

	@Test
	void createsNoTableForAGuardOfTheUsers() {
		this.contextRunner.withBean("mine", FencingGuard.class, InMemoryFencingGuard::new)
			.run((context) -> assertThat(tables(context.getBean(DataSource.class))).doesNotContain("FENCED_RESOURCE"));
	}

	@Test
	void aMissingTableStopsNobodyWhoFencesNothing() {
		this.contextRunner
			.withPropertyValues("fenced-leadership.jdbc.initialize-schema=never", "fenced-leadership.enabled=false")
			.run((context) -> {
				assertThat(context).hasNotFailed();
				assertThatExceptionOfType(MissingFencingTableException.class)
					.isThrownBy(
							() -> context.getBean(FencingGuard.class).prepare("ledger", new FencingToken("reports", 1)))
					.withMessageContaining("'fenced_resource'")
					.withMessageContaining("'schema-fencing-h2.sql'");
			});
	}

	@Test
	void aMissingTableFailsTheStartWhereWritesAreFenced() {
		this.contextRunner.withUserConfiguration(LedgerOnlyConfiguration.class)
			.withPropertyValues("fenced-leadership.jdbc.initialize-schema=never", "fenced-leadership.enabled=false",
					"fenced-leadership.jdbc.table-prefix=my_")
			.run((context) -> {
				assertThat(context).hasFailed();
				FailureAnalysis analysis = new MissingFencingTableFailureAnalyzer()
					.analyze(context.getStartupFailure());
				assertThat(analysis).isNotNull();
				assertThat(analysis.getDescription()).contains("'my_resource'");
				assertThat(analysis.getAction()).contains("fenced-leadership.jdbc.initialize-schema=always",
						"classpath:io/github/fencedleadership/jdbc/schema-fencing-h2.sql", "Flyway", "Liquibase");
			});
	}

	@Test
	void aDatabaseThatIsDownStopsNothing() {
		this.contextRunner.withUserConfiguration(LedgerOnlyConfiguration.class)
			.withPropertyValues("spring.datasource.url=jdbc:postgresql://localhost:1/none?connectTimeout=1",
					"fenced-leadership.enabled=false", "fenced-leadership.jdbc.connection-timeout=300ms")
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void hasNoGuardIfItIsUnclearWhereToWrite() {
		this.contextRunner.withUserConfiguration(TwoDataSourcesConfiguration.class)
			.withPropertyValues("fenced-leadership.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(FencingGuard.class));
	}

	private static List<String> tables(DataSource dataSource) {
		return new JdbcTemplate(dataSource).queryForList(
				"SELECT table_name FROM information_schema.tables WHERE table_schema = 'PUBLIC' ORDER BY 1",
				String.class);
	}

	private static DataSource h2() {
		HikariDataSource dataSource = new HikariDataSource();
		dataSource.setJdbcUrl("jdbc:h2:mem:" + UUID.randomUUID());
		return dataSource;
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
	static class LeasesElsewhereConfiguration {

		@Bean
		@Primary
		DataSource written() {
			return h2();
		}

		@Bean
		@FencedLeadershipDataSource
		DataSource leases() {
			return h2();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class TwoDataSourcesConfiguration {

		@Bean
		DataSource first() {
			return h2();
		}

		@Bean
		DataSource second() {
			return h2();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class LedgerOnlyConfiguration {

		@Bean
		Ledger ledger(JdbcTemplate jdbc) {
			return new Ledger(jdbc);
		}

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
