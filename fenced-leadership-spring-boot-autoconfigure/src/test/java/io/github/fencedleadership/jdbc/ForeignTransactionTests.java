package io.github.fencedleadership.jdbc;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.TimeZone;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;
import io.github.fencedleadership.lease.LeaseStore;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Leases have nothing to do with the transactions of their callers (G8), nor with the
 * defaults of a pool, nor with time zones.
 */
class ForeignTransactionTests {

	private static final Duration TTL = Duration.ofMinutes(10);

	private final TimeZone timeZone = TimeZone.getDefault();

	private TestSchema schema;

	@AfterEach
	void restore() {
		TimeZone.setDefault(this.timeZone);
		if (this.schema != null) {
			this.schema.close();
		}
	}

	@ParameterizedTest
	@CsvSource(quoteCharacter = '"', textBlock = """
			H2,         TRANSACTION_SERIALIZABLE,    false, true
			H2,         TRANSACTION_SERIALIZABLE,    false, false
			H2,         TRANSACTION_REPEATABLE_READ, true,  false
			POSTGRESQL, TRANSACTION_SERIALIZABLE,    false, true
			POSTGRESQL, TRANSACTION_SERIALIZABLE,    false, false
			POSTGRESQL, TRANSACTION_REPEATABLE_READ, true,  false
			MARIADB,    TRANSACTION_SERIALIZABLE,    false, true
			MARIADB,    TRANSACTION_SERIALIZABLE,    false, false
			MARIADB,    TRANSACTION_REPEATABLE_READ, true,  false
			MYSQL,      TRANSACTION_SERIALIZABLE,    false, true
			MYSQL,      TRANSACTION_REPEATABLE_READ, true,  false
			""")
	void leaseStaysWhenCallersTransactionRollsBack(TestDatabase database, String isolation, boolean autoCommit,
			boolean ownPool) throws Exception {
		this.schema = database.createSchema().withTables();
		HikariDataSource pool = this.schema.pool(4);
		pool.setTransactionIsolation(isolation);
		pool.setAutoCommit(autoCommit);
		pool.setReadOnly(database != TestDatabase.H2);
		LeaseStore store = new JdbcLeaseStore(this.schema.open(ownPool ? pool : shared(pool)), "test");
		TransactionTemplate transaction = new TransactionTemplate(new DataSourceTransactionManager(pool));
		transaction.setReadOnly(false);
		transaction.executeWithoutResult((status) -> {
			JdbcTemplate jdbc = new JdbcTemplate(pool);
			assertThat(jdbc.queryForObject("SELECT count(*) FROM fenced_node", Long.class)).isZero();
			assertThat(store.tryAcquireOrRenew("a", "node-a", TTL).outcome()).isEqualTo(Outcome.GRANTED);
			assertThat(store.tryAcquireOrRenew("a", "node-b", TTL).outcome()).isEqualTo(Outcome.REFUSED);
			assertThat(store.tryAcquireOrRenew("node-a", List.of(LeaseRequest.renew("a", TTL, 1))))
				.extracting(LeaseResult::outcome)
				.containsExactly(Outcome.RENEWED);
			assertThat(store.tryAcquireOrRenew("b", "node-a", TTL).acquired()).isTrue();
			assertThat(store.release("b", "node-a", 1)).isTrue();
			status.setRollbackOnly();
		});
		assertThat(this.schema.queryForLong("SELECT count(*) FROM fenced_lease")).isEqualTo(2);
		assertThat(store.find("a")).hasValueSatisfying((lease) -> assertThat(lease.isLive()).isTrue());
		assertThat(store.find("b")).hasValueSatisfying((lease) -> assertThat(lease.isLive()).isFalse());
	}

	@ParameterizedTest
	@EnumSource
	void transactionAwareProxyIsLookedThrough(TestDatabase database) {
		this.schema = database.createSchema().withTables();
		HikariDataSource pool = this.schema.pool(4);
		DataSource proxy = new LazyConnectionDataSourceProxy(new TransactionAwareDataSourceProxy(shared(pool)));
		LeaseStore store = new JdbcLeaseStore(this.schema.open(proxy), "test");
		new TransactionTemplate(new DataSourceTransactionManager(pool)).executeWithoutResult((status) -> {
			new JdbcTemplate(pool).queryForObject("SELECT count(*) FROM fenced_lease", Long.class);
			assertThat(store.tryAcquireOrRenew("a", "node-a", TTL).acquired()).isTrue();
			status.setRollbackOnly();
		});
		assertThat(store.find("a")).isPresent();
	}

	@ParameterizedTest
	@EnumSource
	void pooledConnectionIsGivenBackAsItWas(TestDatabase database) throws Exception {
		this.schema = database.createSchema().withTables();
		try (Connection connection = this.schema.connect()) {
			connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
			connection.setAutoCommit(false);
			int networkTimeout = connection.getNetworkTimeout();
			LeaseStore store = new JdbcLeaseStore(this.schema.open(new OneConnection(connection)), "test");
			assertThat(store.tryAcquireOrRenew("a", "node-a", TTL).acquired()).isTrue();
			assertThat(connection.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_SERIALIZABLE);
			assertThat(connection.getAutoCommit()).isFalse();
			assertThat(connection.getNetworkTimeout()).isEqualTo(networkTimeout);
			connection.rollback();
			if (database == TestDatabase.MARIADB) {
				connection.setAutoCommit(true);
				try (var row = connection.createStatement().executeQuery("SELECT @@SESSION.idle_transaction_timeout")) {
					row.next();
					assertThat(row.getLong(1)).isZero();
				}
			}
		}
		assertThat(this.schema.queryForLong("SELECT count(*) FROM fenced_lease")).isEqualTo(1);
	}

	/**
	 * Two hours before a change to summer time, across it by TTL, on both sides.
	 */
	@ParameterizedTest
	@EnumSource
	void timeZonesTakeNoPart(TestDatabase database) {
		this.schema = database.createSchema().withTables();
		LeaseStore utc = new JdbcLeaseStore(this.schema.openWithTestClock(), "test");
		LeaseResult before = utc.tryAcquireOrRenew("a", "node-a", TTL);
		assertThat(before.expiresAt()).isEqualTo(this.schema.now().plus(TTL));
		for (String[] zones : new String[][] { { "Europe/Berlin", "America/New_York" },
				{ "America/New_York", "Europe/Berlin" }, { "Australia/Lord_Howe", "Pacific/Apia" } }) {
			TimeZone.setDefault(TimeZone.getTimeZone(zones[0]));
			HikariDataSource pool = this.schema.pool(2);
			pool.setConnectionInitSql(switch (database) {
				case H2 -> "SET TIME ZONE '%s'".formatted(zones[1]);
				case POSTGRESQL -> "SET TIME ZONE '%s'".formatted(zones[1]);
				default -> "SET time_zone = '%s'".formatted(zones[1].startsWith("E") ? "+02:00" : "-05:00");
			});
			LeaseStore zoned = new JdbcLeaseStore(
					this.schema.register(
							this.schema.builder(pool).nowExpression("(SELECT c.now_at FROM test_clock c)").build()),
					"test");
			assertThat(zoned.find("a")).isEqualTo(utc.find("a"));
			assertThat(zoned.tryAcquireOrRenew("a", "node-b", TTL))
				.isEqualTo(utc.tryAcquireOrRenew("a", "node-b", TTL));
			LeaseResult renewed = zoned.tryAcquireOrRenew("a", "node-a", TTL);
			assertThat(renewed.expiresAt()).isEqualTo(this.schema.now().plus(TTL));
			assertThat(renewed.remaining()).isEqualTo(TTL);
			// Over the change to summer time in Europe, at 01:00 UTC
			this.schema.advance(Duration.ofSeconds(10));
			assertThat(zoned.find("a"))
				.hasValueSatisfying((lease) -> assertThat(lease.remaining()).isEqualTo(TTL.minusSeconds(10)));
		}
	}

	@ParameterizedTest
	@EnumSource
	void serversClockIsNotThatOfItsTimeZone(TestDatabase database) {
		this.schema = database.createSchema().withTables();
		TimeZone.setDefault(TimeZone.getTimeZone("America/New_York"));
		HikariDataSource pool = this.schema.pool(2);
		pool.setConnectionInitSql((database == TestDatabase.H2 || database == TestDatabase.POSTGRESQL)
				? "SET TIME ZONE 'Asia/Tokyo'" : "SET time_zone = '+09:00'");
		LeaseStore store = new JdbcLeaseStore(this.schema.open(pool), "test");
		LeaseResult result = store.tryAcquireOrRenew("a", "node-a", TTL);
		// On the machine of the tests all clocks are about the same
		assertThat(Duration.between(Instant.now().plus(TTL), result.expiresAt()).abs())
			.isLessThan(Duration.ofMinutes(5));
		assertThat(new JdbcLeaseStore(this.schema.open(), "test").tryAcquireOrRenew("a", "node-b", TTL).outcome())
			.isEqualTo(Outcome.REFUSED);
	}

	/**
	 * A pool that is not known to be one.
	 */
	private static DataSource shared(HikariDataSource pool) {
		return new RecordingDataSource(pool);
	}

	/**
	 * Gives out the same connection and lets nobody close it.
	 */
	private static final class OneConnection extends AbstractDataSource {

		private final Connection connection;

		OneConnection(Connection connection) {
			this.connection = (Connection) Proxy.newProxyInstance(getClass().getClassLoader(),
					new Class<?>[] { Connection.class }, (proxy, method, arguments) -> {
						if (method.getName().equals("close")) {
							return null;
						}
						return method.invoke(connection, arguments);
					});
		}

		@Override
		public Connection getConnection() {
			return this.connection;
		}

		@Override
		public Connection getConnection(String username, String password) {
			return this.connection;
		}

	}

}
