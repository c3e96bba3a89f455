package io.github.fencedleadership.jdbc;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.StaleFencingTokenException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * The guard with the transaction managers and DataSources that applications have, and
 * what it does to their transactions.
 */
@Timeout(120)
class FencingTransactionsTests {

	private static final Duration IDLE = Duration.ofSeconds(7);

	private TestSchema schema;

	@AfterEach
	void close() {
		if (this.schema != null) {
			this.schema.close();
		}
	}

	private HikariDataSource open(TestDatabase database, int size) {
		this.schema = database.createSchema().withTables();
		this.schema.execute("CREATE TABLE written (id INT PRIMARY KEY, fencing_token BIGINT NOT NULL)");
		this.schema.execute("DROP TABLE fenced_lease");
		return this.schema.pool(size);
	}

	private JdbcFencingGuard guard(DataSource dataSource, Duration idle) {
		return new JdbcFencingGuard(this.schema.open(dataSource), dataSource, "app", idle);
	}

	@ParameterizedTest
	@EnumSource(TestDatabase.class)
	void fencesWritesOfHibernate(TestDatabase database) {
		HikariDataSource dataSource = open(database, 4);
		LocalContainerEntityManagerFactoryBean factoryBean = new LocalContainerEntityManagerFactoryBean();
		factoryBean.setDataSource(dataSource);
		factoryBean.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
		factoryBean.setPersistenceUnitName("test");
		factoryBean.setManagedTypes(PersistenceManagedTypes.of(Written.class.getName()));
		factoryBean.afterPropertiesSet();
		try {
			EntityManagerFactory factory = factoryBean.getObject();
			assertThat(factory).isNotNull();
			JpaTransactionManager transactionManager = new JpaTransactionManager(factory);
			EntityManager entityManager = SharedEntityManagerCreator.createSharedEntityManager(factory);
			TransactionTemplate transaction = new TransactionTemplate(transactionManager);
			JdbcFencingGuard guard = guard(dataSource, IDLE);
			FencingToken older = new FencingToken("reports", 1);
			FencingToken newer = new FencingToken("reports", 2);
			transaction.executeWithoutResult((status) -> {
				guard.check("ledger", older);
				entityManager.persist(new Written(1, 1));
			});
			transaction.executeWithoutResult((status) -> {
				guard.check("ledger", newer);
				entityManager.persist(new Written(2, 2));
			});
			assertThatExceptionOfType(StaleFencingTokenException.class)
				.isThrownBy(() -> transaction.executeWithoutResult((status) -> {
					entityManager.persist(new Written(3, 1));
					guard.check("ledger", older);
				}));
			assertThatExceptionOfType(IllegalTransactionStateException.class)
				.isThrownBy(() -> guard.check("ledger", newer));
			assertThat(new JdbcTemplate(dataSource).queryForList("SELECT id FROM written ORDER BY id", Integer.class))
				.containsExactly(1, 2);
			assertIdleBoundIsGone(database, dataSource);
		}
		finally {
			factoryBean.destroy();
		}
	}

	@ParameterizedTest
	@EnumSource(TestDatabase.class)
	void fencesWritesThroughProxies(TestDatabase database) {
		HikariDataSource pool = open(database, 4);
		LazyConnectionDataSourceProxy lazy = new LazyConnectionDataSourceProxy(pool);
		TransactionAwareDataSourceProxy aware = new TransactionAwareDataSourceProxy(pool);
		long token = 0;
		for (Wiring wiring : List.of(new Wiring(new DataSourceTransactionManager(pool), pool),
				new Wiring(new JdbcTransactionManager(pool), aware),
				new Wiring(new JdbcTransactionManager(aware), pool), new Wiring(new JdbcTransactionManager(lazy), lazy),
				new Wiring(new JdbcTransactionManager(lazy), new TransactionAwareDataSourceProxy(lazy)))) {
			JdbcFencingGuard guard = guard(wiring.dataSource(), IDLE);
			TransactionTemplate transaction = new TransactionTemplate(wiring.transactionManager());
			JdbcTemplate jdbc = new JdbcTemplate(wiring.dataSource());
			FencingToken older = new FencingToken("reports", ++token);
			FencingToken newer = new FencingToken("reports", ++token);
			for (FencingToken accepted : List.of(older, newer)) {
				transaction.executeWithoutResult((status) -> {
					guard.check("ledger", accepted);
					jdbc.update("INSERT INTO written VALUES (?, ?)", accepted.value(), accepted.value());
				});
			}
			assertThatExceptionOfType(StaleFencingTokenException.class)
				.isThrownBy(() -> transaction.executeWithoutResult((status) -> {
					jdbc.update("INSERT INTO written VALUES (1000, 0)");
					guard.check("ledger", older);
				}));
		}
		assertThat(this.schema.queryForLong("SELECT count(*) FROM written")).isEqualTo(token);
		assertThat(this.schema.queryForLong("SELECT max(id) FROM written")).isEqualTo(token);
		assertIdleBoundIsGone(database, pool);
	}

	@ParameterizedTest
	@EnumSource(TestDatabase.class)
	void keepsTheMarksOfDatabasesApartThatAreRoutedTo(TestDatabase database) {
		HikariDataSource first = open(database, 4);
		try (TestSchema other = database.createSchema().withTables()) {
			other.execute("DROP TABLE fenced_lease");
			HikariDataSource second = other.pool(4);
			ThreadLocal<String> tenant = new ThreadLocal<>();
			AbstractRoutingDataSource routing = new AbstractRoutingDataSource() {

				@Override
				protected Object determineCurrentLookupKey() {
					return tenant.get();
				}

			};
			routing.setTargetDataSources(Map.of("first", first, "second", second));
			routing.setLenientFallback(false);
			routing.afterPropertiesSet();
			JdbcDatabase marks = this.schema.register(this.schema.builder(routing).askOnCallersThread(true).build());
			JdbcFencingGuard guard = new JdbcFencingGuard(marks, routing, "app", IDLE);
			TransactionTemplate transaction = new TransactionTemplate(new JdbcTransactionManager(routing));
			List.of(new Routed("first", 5), new Routed("second", 3), new Routed("first", 5), new Routed("second", 4))
				.forEach((write) -> {
					tenant.set(write.tenant());
					FencingToken token = new FencingToken("reports", write.token());
					guard.prepare("ledger", token);
					transaction.executeWithoutResult((status) -> guard.check("ledger", token));
				});
			assertThat(this.schema.queryForLong("SELECT fencing_token FROM fenced_resource")).isEqualTo(5);
			assertThat(other.queryForLong("SELECT fencing_token FROM fenced_resource")).isEqualTo(4);
			tenant.set("second");
			transaction.executeWithoutResult((status) -> guard.check("ledger", new FencingToken("reports", 4)));
			tenant.set("first");
			assertThatExceptionOfType(StaleFencingTokenException.class).isThrownBy(() -> transaction
				.executeWithoutResult((status) -> guard.check("ledger", new FencingToken("reports", 4))));
		}
	}

	@ParameterizedTest
	@CsvSource({ "POSTGRESQL, 0, 7s", "POSTGRESQL, 1500ms, 1500ms", "POSTGRESQL, 1h, 7s", "MARIADB, 0, 7",
			"MARIADB, 3, 3", "MARIADB, 100, 7", "MYSQL, 28800, 7", "MYSQL, 3, 3" })
	void boundsIdleTimeOfItsTransactionOnly(TestDatabase database, String setting, String expected) {
		HikariDataSource pool = open(database, 1);
		pool.setConnectionInitSql((database == TestDatabase.POSTGRESQL)
				? "SET idle_in_transaction_session_timeout = '%s'".formatted(setting)
				: "SET SESSION %s = %s".formatted(idleVariable(database), setting));
		JdbcTemplate jdbc = new JdbcTemplate(pool);
		JdbcFencingGuard guard = new JdbcFencingGuard(this.schema.open(), pool, "app", IDLE);
		FencingToken token = new FencingToken("reports", 1);
		for (boolean commit : new boolean[] { true, false }) {
			new TransactionTemplate(new JdbcTransactionManager(pool)).executeWithoutResult((status) -> {
				guard.check("ledger", token);
				guard.check("invoices", token);
				assertThat(jdbc.queryForObject(showIdleBound(database), String.class)).isEqualTo(expected);
				if (!commit) {
					status.setRollbackOnly();
				}
			});
			assertThat(jdbc.queryForObject(showIdleBound(database), String.class)).isEqualTo(setting);
		}
		assertThat(TransactionSynchronizationManager.isSynchronizationActive()).isFalse();
	}

	@ParameterizedTest
	@EnumSource(value = TestDatabase.class, names = { "POSTGRESQL", "MARIADB", "MYSQL" })
	void leavesALongStatementAlone(TestDatabase database) {
		HikariDataSource pool = open(database, 2);
		JdbcTemplate jdbc = new JdbcTemplate(pool);
		JdbcFencingGuard guard = guard(pool, Duration.ofSeconds(1));
		new TransactionTemplate(new JdbcTransactionManager(pool)).executeWithoutResult((status) -> {
			guard.check("ledger", new FencingToken("reports", 1));
			jdbc.queryForList((database == TestDatabase.POSTGRESQL) ? "SELECT pg_sleep(2)" : "SELECT sleep(2)");
			jdbc.update("INSERT INTO written VALUES (1, 1)");
		});
		assertThat(this.schema.queryForLong("SELECT count(*) FROM written")).isOne();
	}

	/**
	 * A leader that is frozen after all has been done but the commit has its locks still.
	 */
	@ParameterizedTest
	@EnumSource(value = TestDatabase.class, names = { "POSTGRESQL", "MARIADB", "MYSQL" })
	void theIdleBoundLastsUntilTheTransactionHasEnded(TestDatabase database) {
		HikariDataSource pool = open(database, 1);
		JdbcTemplate jdbc = new JdbcTemplate(pool);
		JdbcFencingGuard guard = guard(pool, Duration.ofSeconds(1));
		FencingToken token = new FencingToken("reports", 1);
		AtomicReference<String> last = new AtomicReference<>();
		new TransactionTemplate(new JdbcTransactionManager(pool)).executeWithoutResult((status) -> {
			guard.check("ledger", token);
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public void beforeCompletion() {
					last.set(jdbc.queryForObject(showIdleBound(database), String.class));
				}

			});
		});
		assertThat(last.get()).isEqualTo((database == TestDatabase.POSTGRESQL) ? "1s" : "1");
		assertIdleBoundIsGone(database, pool);
	}

	@ParameterizedTest
	@EnumSource(TestDatabase.class)
	void noIdleBoundIfItIsOff(TestDatabase database) {
		HikariDataSource pool = open(database, 2);
		JdbcFencingGuard guard = guard(pool, Duration.ZERO);
		new TransactionTemplate(new JdbcTransactionManager(pool)).executeWithoutResult((status) -> {
			guard.check("ledger", new FencingToken("reports", 1));
			assertIdleBoundIsGone(database, pool);
		});
	}

	@Test
	void usesNoMoreThanOneStatementInTheTransaction() {
		HikariDataSource pool = open(TestDatabase.POSTGRESQL, 2);
		RecordingDataSource recording = new RecordingDataSource(pool);
		JdbcFencingGuard guard = new JdbcFencingGuard(this.schema.open(), recording, "app", IDLE);
		TransactionTemplate transaction = new TransactionTemplate(new JdbcTransactionManager(recording));
		FencingToken token = new FencingToken("reports", 1);
		transaction.executeWithoutResult((status) -> guard.check("ledger", token));
		recording.statements().clear();
		transaction.executeWithoutResult((status) -> guard.check("ledger", token));
		assertThat(recording.statements()).hasSize(2).last().isEqualTo("commit");
	}

	private static void assertIdleBoundIsGone(TestDatabase database, DataSource dataSource) {
		if (database != TestDatabase.H2) {
			assertThat(new JdbcTemplate(dataSource).queryForObject(showIdleBound(database), String.class))
				.isEqualTo((database == TestDatabase.MYSQL) ? "28800" : "0");
		}
	}

	private static String showIdleBound(TestDatabase database) {
		return (database == TestDatabase.POSTGRESQL) ? "SHOW idle_in_transaction_session_timeout"
				: "SELECT @@SESSION." + idleVariable(database);
	}

	private static String idleVariable(TestDatabase database) {
		return (database == TestDatabase.MARIADB) ? "idle_transaction_timeout" : "wait_timeout";
	}

	private record Wiring(PlatformTransactionManager transactionManager, DataSource dataSource) {

	}

	private record Routed(String tenant, long token) {

	}

	/**
	 * A row.
	 */
	@Entity
	@Table(name = "written")
	static class Written {

		@Id
		private int id;

		@Column(name = "fencing_token")
		private long token;

		Written() {
		}

		Written(int id, long token) {
			this.id = id;
			this.token = token;
		}

	}

}
