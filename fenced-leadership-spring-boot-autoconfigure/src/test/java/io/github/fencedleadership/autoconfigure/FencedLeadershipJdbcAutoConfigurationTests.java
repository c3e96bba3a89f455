package io.github.fencedleadership.autoconfigure;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.ServerSocket;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.mockito.Answers;

import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.core.io.support.SpringFactoriesLoader;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DelegatingDataSource;

import io.github.fencedleadership.election.RoleSettings;
import io.github.fencedleadership.jdbc.JdbcDatabase;
import io.github.fencedleadership.jdbc.JdbcLeaseStore;
import io.github.fencedleadership.jdbc.JdbcNodeRegistry;
import io.github.fencedleadership.jdbc.JdbcReleaseNotifications;
import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.lease.ReleaseNotifications;
import io.github.fencedleadership.membership.InMemoryNodeRegistry;
import io.github.fencedleadership.membership.Node;
import io.github.fencedleadership.membership.NodeRegistry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link FencedLeadershipJdbcAutoConfiguration}.
 */
@ExtendWith(OutputCaptureExtension.class)
class FencedLeadershipJdbcAutoConfigurationTests {

	private static final Duration TTL = Duration.ofSeconds(30);

	private final String database = "jdbc:h2:mem:" + UUID.randomUUID();

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(
				AutoConfigurations.of(DataSourceAutoConfiguration.class, FencedLeadershipJdbcAutoConfiguration.class))
		.withUserConfiguration(SettingsConfiguration.class)
		.withPropertyValues("spring.datasource.url=" + this.database, "fenced-leadership.jdbc.connection-timeout=6s",
				"fenced-leadership.jdbc.query-timeout=6s");

	@Test
	void keepsLeasesAndNodesInTheDataSource() {
		this.contextRunner.run((context) -> {
			assertThat(context).hasSingleBean(JdbcLeaseStore.class).hasSingleBean(JdbcNodeRegistry.class);
			LeaseStore store = context.getBean(LeaseStore.class);
			assertThat(store.tryAcquireOrRenew("reports", "node-a", TTL).fencingToken()).isEqualTo(1);
			context.getBean(NodeRegistry.class)
				.heartbeat(new Node("node-a", "host", 1, null, Instant.EPOCH, Instant.EPOCH));
			JdbcTemplate jdbc = new JdbcTemplate(context.getBean(DataSource.class));
			assertThat(jdbc.queryForList("SELECT namespace, role, owner_id FROM fenced_lease")).singleElement()
				.satisfies((row) -> assertThat(row.values()).map(Object::toString)
					.containsExactly("app", "reports", "node-a"));
			assertThat(jdbc.queryForObject("SELECT count(*) FROM fenced_node", Long.class)).isEqualTo(1);
			assertThat(jdbc.queryForObject("SELECT count(*) FROM fenced_history", Long.class)).isZero();
		});
	}

	@Test
	void releasesAreToldUnlessSwitchedOff() {
		this.contextRunner.run((context) -> {
			assertThat(context).hasSingleBean(JdbcReleaseNotifications.class);
			assertThat(context.getBean(JdbcDatabase.class).isTold()).isTrue();
		});
		this.contextRunner.withPropertyValues("fenced-leadership.jdbc.release-notifications=false").run((context) -> {
			assertThat(context).doesNotHaveBean(ReleaseNotifications.class);
			assertThat(context.getBean(JdbcDatabase.class).isTold()).isFalse();
		});
	}

	@Test
	void notificationsOfTheUserWin() {
		ReleaseNotifications own = (listener) -> () -> {
		};
		this.contextRunner.withBean(ReleaseNotifications.class, () -> own)
			.run((context) -> assertThat(context.getBean(ReleaseNotifications.class)).isSameAs(own));
	}

	@Test
	void storeMayBeNamed() {
		this.contextRunner.withPropertyValues("fenced-leadership.store=JDBC")
			.run((context) -> assertThat(context).hasSingleBean(JdbcLeaseStore.class));
	}

	@Test
	void backsOffFromMemoryStore() {
		this.contextRunner.withPropertyValues("fenced-leadership.store=memory")
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(LeaseStore.class)
				.doesNotHaveBean(JdbcDatabase.class));
	}

	@Test
	void backsOffWhenDisabled() {
		this.contextRunner.withPropertyValues("fenced-leadership.enabled=false")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(JdbcDatabase.class));
	}

	@Test
	void backsOffWithoutSpringJdbc() {
		this.contextRunner.withClassLoader(new FilteredClassLoader(DelegatingDataSource.class))
			.run((context) -> assertThat(context).doesNotHaveBean(FencedLeadershipJdbcAutoConfiguration.class));
	}

	@Test
	void backsOffWithoutDataSource() {
		new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(FencedLeadershipJdbcAutoConfiguration.class))
			.withUserConfiguration(SettingsConfiguration.class)
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(LeaseStore.class));
	}

	@Test
	void userDefinedStoreWins() {
		this.contextRunner.withBean(LeaseStore.class, () -> new InMemoryLeaseStore(Instant::now))
			.withBean(NodeRegistry.class, () -> new InMemoryNodeRegistry(Instant::now, TTL))
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(JdbcLeaseStore.class)
				.doesNotHaveBean(JdbcNodeRegistry.class));
	}

	@Test
	void userDefinedDatabaseWins() {
		this.contextRunner.withUserConfiguration(DatabaseConfiguration.class)
			.withPropertyValues("fenced-leadership.jdbc.table-prefix=own_")
			.run((context) -> {
				assertThat(context).hasSingleBean(JdbcDatabase.class);
				assertThat(context.getBean(JdbcDatabase.class).getLeaseTable()).isEqualTo("own_lease");
			});
	}

	@Test
	void userDefinedInitializerWins() {
		this.contextRunner.withUserConfiguration(InitializerConfiguration.class)
			.run((context) -> assertThat(context)
				.hasSingleBean(FencedLeadershipDataSourceScriptDatabaseInitializer.class)
				.hasBean("customInitializer"));
	}

	@Test
	void storeThatIsDefinedByTheUserWaitsForTheSchema() {
		this.contextRunner.withUserConfiguration(EagerStoreConfiguration.class)
			.run((context) -> assertThat(context).hasNotFailed().hasSingleBean(LeaseStore.class));
	}

	@Test
	void qualifiedDataSourceWins() {
		this.contextRunner.withUserConfiguration(QualifiedDataSourceConfiguration.class).run((context) -> {
			assertThat(context).hasNotFailed();
			JdbcTemplate qualified = new JdbcTemplate(context.getBean("qualified", DataSource.class));
			assertThat(qualified.queryForObject("SELECT count(*) FROM fenced_lease", Long.class)).isZero();
		});
	}

	@Test
	void qualifiedDataSourceNeedNotBeCandidateElsewhere() {
		new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(FencedLeadershipJdbcAutoConfiguration.class))
			.withUserConfiguration(SettingsConfiguration.class, OnlyQualifiedDataSourceConfiguration.class)
			.run((context) -> assertThat(context).hasNotFailed().hasSingleBean(JdbcLeaseStore.class));
	}

	@Test
	void primaryDataSourceIsUsed() {
		this.contextRunner.withUserConfiguration(PrimaryDataSourceConfiguration.class).run((context) -> {
			assertThat(context).hasNotFailed();
			JdbcTemplate primary = new JdbcTemplate(context.getBean("first", DataSource.class));
			assertThat(primary.queryForObject("SELECT count(*) FROM fenced_lease", Long.class)).isZero();
		});
	}

	@Test
	void severalDataSourcesWithoutPrimaryFail() {
		this.contextRunner.withUserConfiguration(TwoDataSourcesConfiguration.class).run((context) -> {
			assertThat(context).hasFailed();
			FailureAnalysis analysis = analyze(context.getStartupFailure());
			assertThat(analysis.getDescription()).contains("'first'", "'second'");
			assertThat(analysis.getAction()).contains("@FencedLeadershipDataSource", "@Primary");
		});
	}

	@Test
	void tablesAreCreatedWithPrefixAndSchema() {
		this.contextRunner
			.withPropertyValues("spring.datasource.url=" + this.database + ";INIT=CREATE SCHEMA IF NOT EXISTS OTHER",
					"fenced-leadership.jdbc.table-prefix=my_", "fenced-leadership.jdbc.schema-name=other")
			.run((context) -> {
				assertThat(context).hasNotFailed();
				JdbcTemplate jdbc = new JdbcTemplate(context.getBean(DataSource.class));
				assertThat(jdbc.queryForList(
						"SELECT table_schema || '.' || table_name FROM information_schema.tables WHERE table_name LIKE 'MY@_%' ESCAPE '@' ORDER BY 1",
						String.class))
					.containsExactly("OTHER.MY_HISTORY", "OTHER.MY_LEASE", "OTHER.MY_NODE");
				assertThat(context.getBean(LeaseStore.class).tryAcquireOrRenew("reports", "node-a", TTL).fencingToken())
					.isEqualTo(1);
			});
	}

	@Test
	void runningTheSchemaAgainLosesNothing() {
		ApplicationContextRunner persistent = this.contextRunner.withPropertyValues(
				"spring.datasource.url=" + this.database + ";DB_CLOSE_DELAY=-1",
				"fenced-leadership.jdbc.initialize-schema=always");
		persistent.run((context) -> context.getBean(LeaseStore.class).tryAcquireOrRenew("reports", "node-a", TTL));
		persistent.run((context) -> assertThat(context.getBean(LeaseStore.class).find("reports"))
			.hasValueSatisfying((lease) -> assertThat(lease.fencingToken()).isEqualTo(1)));
	}

	@Test
	void missingTablesFailStartUpAndAreNamed() {
		this.contextRunner
			.withPropertyValues("fenced-leadership.jdbc.initialize-schema=never",
					"fenced-leadership.jdbc.table-prefix=my_")
			.run((context) -> {
				assertThat(context).hasFailed();
				FailureAnalysis analysis = analyze(context.getStartupFailure());
				assertThat(analysis.getDescription()).contains("'my_lease'", "'my_node'");
				assertThat(analysis.getAction()).contains("fenced-leadership.jdbc.initialize-schema=always",
						"classpath:io/github/fencedleadership/jdbc/schema-h2.sql", "Flyway", "Liquibase");
			});
	}

	@Test
	void missingTableFailsStartUpEvenIfBeansAreLazy() {
		this.contextRunner
			.withPropertyValues("fenced-leadership.jdbc.initialize-schema=never",
					"spring.main.lazy-initialization=true")
			.withInitializer(
					(context) -> context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
			.run((context) -> assertThat(context).hasFailed().getFailure().isInstanceOf(MissingTableException.class));
	}

	@Test
	void databaseThatIsDownStopsNothing(CapturedOutput output) {
		this.contextRunner
			.withPropertyValues("spring.datasource.url=jdbc:postgresql://localhost:1/none?connectTimeout=1",
					"fenced-leadership.jdbc.connection-timeout=300ms")
			.run((context) -> {
				assertThat(context).hasNotFailed().hasSingleBean(JdbcLeaseStore.class);
				assertThat(output).contains("does not answer");
			});
	}

	@Test
	void databaseThatNeverAnswersStopsNothing(CapturedOutput output) throws IOException {
		try (ServerSocket silent = new ServerSocket(0)) {
			this.contextRunner
				.withPropertyValues(
						"spring.datasource.url=jdbc:postgresql://localhost:%d/none".formatted(silent.getLocalPort()),
						"fenced-leadership.jdbc.connection-timeout=300ms", "fenced-leadership.jdbc.query-timeout=300ms")
				.run((context) -> {
					assertThat(context).hasNotFailed().hasSingleBean(JdbcLeaseStore.class);
					assertThat(output).contains("does not answer");
					LeaseStore leases = context.getBean(LeaseStore.class);
					assertThatExceptionOfType(DataAccessException.class)
						.isThrownBy(() -> leases.tryAcquireOrRenew("reports", "a", TTL));
				});
		}
	}

	@Test
	void credentialsAreNotLogged(CapturedOutput output) {
		this.contextRunner
			.withPropertyValues(
					"spring.datasource.url=jdbc:postgresql://localhost:1/none?user=someone&password=geheim1",
					"spring.datasource.username=somebody", "spring.datasource.password=geheim2",
					"fenced-leadership.jdbc.connection-timeout=300ms")
			.run((context) -> {
				assertThat(context).hasNotFailed();
				assertThatException().isThrownBy(() -> context.getBean(LeaseStore.class).findAll())
					.satisfies((ex) -> assertThat(stackTraceOf(ex)).doesNotContain("geheim"));
			});
		assertThat(output).contains("does not answer").doesNotContain("geheim");
	}

	private static String stackTraceOf(Throwable ex) {
		StringWriter text = new StringWriter();
		ex.printStackTrace(new PrintWriter(text));
		return text.toString();
	}

	@Test
	void unsupportedDatabaseFailsStartUp() {
		this.contextRunner.withBean("dataSource", DataSource.class, UnknownDatabase::dataSource)
			.withPropertyValues("fenced-leadership.jdbc.initialize-schema=never")
			.run((context) -> {
				assertThat(context).hasFailed();
				FailureAnalysis analysis = analyze(context.getStartupFailure());
				assertThat(analysis.getDescription()).contains("'Oracle'", "'23'", "PostgreSQL 13");
			});
	}

	@Test
	void databaseInMemoryIsWarnedOfOnce(CapturedOutput output) {
		this.contextRunner.run((context) -> assertThat(output.getAll()).containsOnlyOnce("within this process only"));
	}

	@Test
	void illegalPrefixIsRejectedBeforeAnyScriptRuns() {
		this.contextRunner.withPropertyValues("fenced-leadership.jdbc.table-prefix=x; DROP TABLE y --")
			.run((context) -> {
				FailureAnalysis analysis = analyze(context.getStartupFailure());
				assertThat(analysis.getDescription()).contains("'fenced-leadership.jdbc.table-prefix'",
						"'x; DROP TABLE y --'");
			});
	}

	@Test
	void illegalSchemaNameIsRejected() {
		this.contextRunner.withPropertyValues("fenced-leadership.jdbc.schema-name=a.b")
			.run((context) -> assertThat(analyze(context.getStartupFailure()).getDescription())
				.contains("'fenced-leadership.jdbc.schema-name'", "'a.b'"));
	}

	@Test
	void boundsDeriveFromTheSmallestRenewInterval() {
		this.contextRunner
			.withPropertyValues("fenced-leadership.jdbc.connection-timeout=", "fenced-leadership.jdbc.query-timeout=")
			.withAllowBeanDefinitionOverriding(true)
			.withBean("fencedLeadershipSettings", FencedLeadershipSettings.class,
					() -> settings(Map.of("fast", RoleSettings.of(Duration.ofSeconds(12)))))
			.run((context) -> {
				JdbcDatabase database = context.getBean(JdbcDatabase.class);
				assertThat(database.getConnectionTimeout()).isEqualTo(Duration.ofSeconds(1));
				assertThat(database.getQueryTimeout()).isEqualTo(Duration.ofSeconds(1));
			});
	}

	@Test
	void boundsThatDoNotFitAreRejected() {
		this.contextRunner.withPropertyValues("fenced-leadership.jdbc.query-timeout=20s").run((context) -> {
			FailureAnalysis analysis = analyze(context.getStartupFailure());
			assertThat(analysis.getDescription()).contains("'fenced-leadership.jdbc.query-timeout'", "'PT20S'",
					"'PT30S'");
			assertThat(analysis.getAction()).contains("fenced-leadership.lease-ttl");
		});
	}

	@Test
	void boundsMustFitEveryRole() {
		this.contextRunner.withAllowBeanDefinitionOverriding(true)
			.withBean("fencedLeadershipSettings", FencedLeadershipSettings.class,
					() -> settings(Map.of("fast", RoleSettings.of(Duration.ofSeconds(12)))))
			.run((context) -> assertThat(analyze(context.getStartupFailure()).getDescription())
				.contains("role 'fast'"));
	}

	@Test
	void boundsMustBePositive() {
		this.contextRunner.withPropertyValues("fenced-leadership.jdbc.connection-timeout=0")
			.run((context) -> assertThat(analyze(context.getStartupFailure()).getDescription())
				.contains("'fenced-leadership.jdbc.connection-timeout'", "'PT0S'"));
	}

	@Test
	void waitOfThirtySecondsInTheApplicationsPoolIsNoObstacle() {
		this.contextRunner.withPropertyValues("spring.datasource.hikari.connection-timeout=30000")
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void storeWorksWhenTheApplicationsPoolIsExhausted() {
		this.contextRunner.withPropertyValues("spring.datasource.hikari.maximum-pool-size=1").run((context) -> {
			try (var taken = context.getBean(DataSource.class).getConnection()) {
				assertThat(taken.isClosed()).isFalse();
				assertThat(context.getBean(LeaseStore.class).tryAcquireOrRenew("reports", "node-a", TTL).acquired())
					.isTrue();
			}
		});
	}

	@Test
	void connectionsOfTheStoreAreClosedWithTheContext() {
		AtomicReference<HikariDataSource> application = new AtomicReference<>();
		this.contextRunner.withPropertyValues("spring.datasource.url=" + this.database).run((context) -> {
			application.set((HikariDataSource) context.getBean(DataSource.class));
			context.getBean(LeaseStore.class).findAll();
			assertThat(poolThreads()).isNotEmpty();
		});
		assertThat(application.get().isClosed()).isTrue();
		Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> assertThat(poolThreads()).isEmpty());
	}

	private static List<String> poolThreads() {
		return Thread.getAllStackTraces()
			.keySet()
			.stream()
			.filter(Thread::isAlive)
			.map(Thread::getName)
			.filter((name) -> name.contains("-fenced-leadership"))
			.toList();
	}

	private static FailureAnalysis analyze(Throwable failure) {
		assertThat(failure).isNotNull();
		List<FailureAnalyzer> analyzers = SpringFactoriesLoader.forDefaultResourceLocation()
			.load(FailureAnalyzer.class, (type, name, ex) -> {
			});
		return analyzers.stream()
			.filter((analyzer) -> analyzer.getClass().getPackageName().startsWith("io.github.fencedleadership"))
			.map((analyzer) -> analyzer.analyze(failure))
			.filter((analysis) -> analysis != null)
			.findFirst()
			.orElseThrow(() -> new AssertionError("Nobody explains this", failure));
	}

	private static FencedLeadershipSettings settings(Map<String, RoleSettings> roles) {
		return new FencedLeadershipSettings("app", "node", RoleSettings.of(TTL), roles, Duration.ofSeconds(10), TTL,
				Duration.ofDays(1), Duration.ofSeconds(20));
	}

	private static DataSource h2() {
		HikariDataSource dataSource = new HikariDataSource();
		dataSource.setJdbcUrl("jdbc:h2:mem:" + UUID.randomUUID());
		return dataSource;
	}

	@Configuration(proxyBeanMethods = false)
	static class SettingsConfiguration {

		@Bean
		FencedLeadershipSettings fencedLeadershipSettings() {
			return settings(Map.of());
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class DatabaseConfiguration {

		@Bean
		JdbcDatabase customDatabase(DataSource dataSource) {
			return JdbcDatabase.builder(dataSource).tablePrefix("own_").build();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class InitializerConfiguration {

		@Bean
		FencedLeadershipDataSourceScriptDatabaseInitializer customInitializer(DataSource dataSource,
				FencedLeadershipJdbcProperties properties) {
			return new FencedLeadershipDataSourceScriptDatabaseInitializer(dataSource, properties);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class EagerStoreConfiguration {

		@Bean
		LeaseStore ownStore(JdbcDatabase database) {
			JdbcLeaseStore store = new JdbcLeaseStore(database, "own");
			store.findAll();
			return store;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class QualifiedDataSourceConfiguration {

		@Bean
		@Primary
		DataSource main() {
			return h2();
		}

		@Bean
		@FencedLeadershipDataSource
		DataSource qualified() {
			return h2();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OnlyQualifiedDataSourceConfiguration {

		@Bean(defaultCandidate = false)
		@FencedLeadershipDataSource
		DataSource qualified() {
			return h2();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class PrimaryDataSourceConfiguration {

		@Bean
		@Primary
		DataSource first() {
			return h2();
		}

		@Bean
		DataSource second() {
			return mock(DataSource.class);
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

	/**
	 * A database of which only its name is known.
	 */
	static final class UnknownDatabase {

		private UnknownDatabase() {
		}

		static DataSource dataSource() {
			DataSource dataSource = mock(DataSource.class, Answers.RETURNS_DEEP_STUBS);
			try {
				var metaData = dataSource.getConnection().getMetaData();
				given(metaData.getDatabaseProductName()).willReturn("Oracle");
				given(metaData.getDatabaseProductVersion()).willReturn("23");
			}
			catch (SQLException ex) {
				throw new IllegalStateException(ex);
			}
			return dataSource;
		}

	}

}
