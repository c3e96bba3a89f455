package io.github.fencedleadership.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import org.springframework.dao.DataAccessException;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.dao.TransientDataAccessResourceException;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link JdbcDatabase}: bounds, connections, retries.
 */
class JdbcDatabaseTests {

	private TestSchema schema;

	@BeforeEach
	void open() {
		this.schema = TestDatabase.H2.createSchema().withTables();
	}

	@AfterEach
	void close() {
		this.schema.close();
	}

	@Test
	void hasConnectionsOfItsOwnWhenTheApplicationHasExhaustedItsPool() throws SQLException {
		HikariDataSource application = this.schema.pool(2);
		JdbcDatabase database = this.schema.open(application);
		try (Connection first = application.getConnection(); Connection second = application.getConnection()) {
			assertThat(first).isNotSameAs(second);
			assertThat(database.hasTable("fenced_lease")).isTrue();
		}
	}

	@Test
	void ownPoolIsFoundBehindWrappers() throws SQLException {
		HikariDataSource application = this.schema.pool(1);
		JdbcDatabase database = this.schema.open(new DelegatingDataSource(new DelegatingDataSource(application)));
		try (Connection taken = application.getConnection()) {
			assertThat(taken.isClosed()).isFalse();
			assertThat(database.hasTable("fenced_lease")).isTrue();
		}
	}

	@Test
	void ownPoolTakesOverWhatMakesTheConnectionButNotWhatWaitsOrCounts() {
		HikariDataSource application = this.schema.pool(7);
		application.setSchema("PUBLIC");
		application.setConnectionInitSql("SET TIME ZONE 'UTC'");
		application.addDataSourceProperty("any", "thing");
		application.setAutoCommit(false);
		application.setReadOnly(true);
		application.setMetricsTrackerFactory((name, stats) -> null);
		OwnPool.PoolHandle handle = OwnPool.copyOf(application, Duration.ofMillis(700));
		assertThat(handle).isNotNull();
		try (HikariDataSource own = (HikariDataSource) handle.dataSource()) {
			assertThat(own.getJdbcUrl()).isEqualTo(application.getJdbcUrl());
			assertThat(own.getUsername()).isEqualTo("sa");
			assertThat(own.getSchema()).isEqualTo("PUBLIC");
			assertThat(own.getConnectionInitSql()).isEqualTo("SET TIME ZONE 'UTC'");
			assertThat(own.getDataSourceProperties()).containsEntry("any", "thing");
			assertThat(own.getMaximumPoolSize()).as("two for calls, one to listen with").isEqualTo(3);
			assertThat(own.getConnectionTimeout()).isEqualTo(700);
			assertThat(own.isAutoCommit()).isTrue();
			assertThat(own.isReadOnly()).isFalse();
			assertThat(own.getMetricsTrackerFactory()).isNull();
			assertThat(own.getPoolName()).endsWith("-fenced-leadership");
		}
		assertThat(application.isClosed()).isFalse();
		assertThat(application.getMaximumPoolSize()).isEqualTo(7);
	}

	@Test
	void routingDataSourceIsAskedEachTime() throws SQLException {
		AbstractRoutingDataSource routing = new AbstractRoutingDataSource() {

			@Override
			protected Object determineCurrentLookupKey() {
				return "any";
			}

		};
		routing.setTargetDataSources(Map.of("any", this.schema.pool(2)));
		routing.afterPropertiesSet();
		assertThat(OwnPool.copyOf(routing, Duration.ofSeconds(1))).isNull();
	}

	@Test
	void closesItsPoolAndLeavesTheApplications() {
		HikariDataSource application = this.schema.pool(2);
		JdbcDatabase database = this.schema.builder(application).build();
		assertThat(database.hasTable("fenced_lease")).isTrue();
		database.close();
		assertThat(application.isClosed()).isFalse();
		assertThatExceptionOfType(RuntimeException.class).isThrownBy(() -> database.hasTable("fenced_lease"));
	}

	@Test
	void abandonsDataSourceThatBlocksAndClosesConnectionThatComesLate() throws Exception {
		CountDownLatch unblock = new CountDownLatch(1);
		List<Connection> late = new ArrayList<>();
		AtomicInteger asked = new AtomicInteger();
		DataSource blocking = new RecordingDataSource(new DelegatingDataSource(this.schema.pool(2)) {

			@Override
			public Connection getConnection() throws SQLException {
				asked.incrementAndGet();
				try {
					unblock.await();
				}
				catch (InterruptedException ex) {
					throw new SQLException(ex);
				}
				Connection connection = super.getConnection();
				synchronized (late) {
					late.add(connection);
				}
				return connection;
			}

		});
		JdbcDatabase database = this.schema.register(JdbcDatabase.builder(blocking)
			.connectionTimeout(Duration.ofMillis(100))
			.queryTimeout(Duration.ofSeconds(10))
			.build());
		for (int i = 0; i < 4; i++) {
			assertThatExceptionOfType(TransientDataAccessResourceException.class)
				.isThrownBy(() -> database.hasTable("fenced_lease"))
				.withMessageContaining("'PT0.1S'");
		}
		assertThat(asked).as("no more threads wait than there may be connections").hasValue(2);
		unblock.countDown();
		Awaitility.await().atMost(Duration.ofSeconds(30)).untilAsserted(() -> {
			synchronized (late) {
				assertThat(late).hasSize(2);
				for (Connection connection : late) {
					assertThat(connection.isClosed()).isTrue();
				}
			}
		});
		Awaitility.await()
			.atMost(Duration.ofSeconds(30))
			.ignoreExceptions()
			.untilAsserted(() -> assertThat(database.hasTable("fenced_lease")).isTrue());
	}

	@Test
	void triesAgainAfterSerializationFailure() {
		JdbcDatabase database = this.schema.open();
		AtomicInteger attempts = new AtomicInteger();
		String result = database.call("try", (session, dialect) -> {
			if (attempts.incrementAndGet() < 3) {
				throw new SQLTransactionRollbackException("deadlock", "40P01");
			}
			return "done";
		});
		assertThat(result).isEqualTo("done");
		assertThat(attempts).hasValue(3);
	}

	@Test
	void givesUpAfterSeveralSerializationFailures() {
		JdbcDatabase database = this.schema.open();
		AtomicInteger attempts = new AtomicInteger();
		assertThatExceptionOfType(DataAccessException.class)
			.isThrownBy(() -> database.call("try", (session, dialect) -> {
				attempts.incrementAndGet();
				throw new SQLTransactionRollbackException("serialization", "40001");
			}))
			.withMessageContaining("Failed to try");
		assertThat(attempts).hasValue(5);
	}

	@Test
	void doesNotTryAgainAfterOtherFailures() {
		JdbcDatabase database = this.schema.open();
		AtomicInteger attempts = new AtomicInteger();
		assertThatExceptionOfType(DataAccessException.class)
			.isThrownBy(() -> database.call("try", (session, dialect) -> {
				attempts.incrementAndGet();
				throw new SQLException("broken", "08006");
			}));
		assertThat(attempts).hasValue(1);
	}

	@Test
	void findsOutTheDatabaseOnceItAnswers() {
		AtomicInteger attempts = new AtomicInteger();
		JdbcDatabase database = this.schema.open(new RecordingDataSource(new DelegatingDataSource(this.schema.pool(2)) {

			@Override
			public Connection getConnection() throws SQLException {
				if (attempts.incrementAndGet() < 3) {
					throw new SQLException("down", "08001");
				}
				return super.getConnection();
			}

		}));
		assertThatExceptionOfType(DataAccessResourceFailureException.class).isThrownBy(database::getPlatform);
		assertThatExceptionOfType(DataAccessResourceFailureException.class).isThrownBy(database::getPlatform);
		assertThat(database.getPlatform()).isEqualTo("h2");
	}

	@Test
	void namesTables() {
		JdbcDatabase database = this.schema
			.register(JdbcDatabase.builder(this.schema.pool(2)).schema("public").tablePrefix("fenced_").build());
		assertThat(database.getLeaseTable()).isEqualTo("public.fenced_lease");
		assertThat(database.getNodeTable()).isEqualTo("public.fenced_node");
		assertThat(database.hasTable(database.getNodeTable())).isTrue();
		assertThat(database.hasTable("public.fenced_other")).isFalse();
	}

	@Test
	void illegalNamesAndBoundsAreRejected() {
		JdbcDatabase.Builder builder = JdbcDatabase.builder(this.schema.pool(2));
		for (String name : new String[] { "", "1a", "a-b", "a.b", "a b", "\u00e4", "a\"", "a".repeat(64) }) {
			assertThatIllegalArgumentException().as(name)
				.isThrownBy(() -> builder.schema(name))
				.withMessageContaining(name);
			assertThatIllegalArgumentException().as(name).isThrownBy(() -> builder.tablePrefix(name));
		}
		assertThatIllegalArgumentException().isThrownBy(() -> builder.queryTimeout(Duration.ZERO));
		assertThatIllegalArgumentException().isThrownBy(() -> builder.connectionTimeout(Duration.ofSeconds(-1)));
	}

}
