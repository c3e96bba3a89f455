package io.github.fencedleadership.jdbc;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.datasource.DelegatingDataSource;

import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult.Outcome;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link JdbcLeaseStore} beyond the contract: what is sent, and what a locked
 * row costs.
 */
class JdbcLeaseStoreTests {

	private static final Duration TTL = Duration.ofMinutes(10);

	private TestSchema schema;

	@AfterEach
	void close() {
		if (this.schema != null) {
			this.schema.close();
		}
	}

	@Test
	void anyMixtureIsOneStatementOnPostgreSql() {
		RecordingDataSource dataSource = recording(TestDatabase.POSTGRESQL);
		LeaseStore store = new JdbcLeaseStore(this.schema.open(dataSource), "test");
		store.tryAcquireOrRenew("node-a", List.of(acquire("own"), acquire("released")));
		store.release("released", "node-a", 1);
		store.tryAcquireOrRenew("node-b", List.of(acquire("held")));
		dataSource.statements().clear();
		List<LeaseResult> results = store.tryAcquireOrRenew("node-a",
				List.of(LeaseRequest.renew("own", TTL, 1), acquire("released"), acquire("held"), acquire("free")));
		assertThat(results).extracting(LeaseResult::outcome)
			.containsExactly(Outcome.RENEWED, Outcome.GRANTED, Outcome.REFUSED, Outcome.GRANTED);
		assertThat(dataSource.statements()).singleElement().asString().contains("UPDATE", "INSERT");
	}

	/**
	 * As after leases were restored from a backup that is older than the last writes.
	 */
	/**
	 * As of a DataSource that wraps whatever it returns.
	 */
	@Test
	void driverThatIsHiddenBehindProxiesIsDoneWithout() {
		try (TestSchema schema = TestDatabase.POSTGRESQL.createSchema().withTables()) {
			DataSource pool = schema.pool(2);
			DataSource hidden = new DelegatingDataSource(pool) {

				@Override
				public Connection getConnection() throws SQLException {
					return hide(Connection.class, super.getConnection());
				}

			};
			JdbcLeaseStore store = new JdbcLeaseStore(schema.open(hidden), "hidden");
			assertThat(store.tryAcquireOrRenew("reports", "a", Duration.ofMinutes(1)).acquired()).isTrue();
			assertThat(store.release("reports", "a", 1)).isTrue();
		}
	}

	private static <T> T hide(Class<T> type, T target) {
		return type
			.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type }, (proxy, method, arguments) -> {
				try {
					Object result = method.invoke(target, arguments);
					return (result instanceof PreparedStatement statement) ? hide(PreparedStatement.class, statement)
							: result;
				}
				catch (InvocationTargetException ex) {
					throw ex.getTargetException();
				}
			}));
	}

	@ParameterizedTest
	@EnumSource
	void grantIsAboveTheMarksOfTheGuard(TestDatabase database) {
		this.schema = database.createSchema().withTables();
		LeaseStore store = new JdbcLeaseStore(this.schema.open(), "test");
		assertThat(store.tryAcquireOrRenew("known", "node-a", Duration.ofMillis(1)).fencingToken()).isOne();
		assertThat(store.tryAcquireOrRenew("held", "node-a", TTL).fencingToken()).isOne();
		for (String role : List.of("known", "new", "held")) {
			raise("test", role, "ledger", 41);
			raise("test", role, "invoices", 17);
			raise("other", role, "ledger", 1000);
		}
		raise("test", "spoilt", "ledger", Long.MAX_VALUE);
		Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> !store.find("known").orElseThrow().isLive());
		assertThat(store.tryAcquireOrRenew("node-b",
				List.of(acquire("known"), acquire("new"), acquire("unguarded"), acquire("spoilt"), acquire("held"))))
			.extracting(LeaseResult::fencingToken)
			.containsExactly(42L, 42L, 1L, 1L, 1L);
		assertThat(store.tryAcquireOrRenew("node-a", List.of(LeaseRequest.renew("held", TTL, 1)))).singleElement()
			.satisfies((result) -> assertThat(result.fencingToken()).isOne());
		assertThat(store.tryAcquireOrRenew("node-b", List.of(LeaseRequest.acquire("floored", TTL, 99))))
			.extracting(LeaseResult::fencingToken)
			.containsExactly(100L);
	}

	@ParameterizedTest
	@EnumSource
	void grantsWhereThereAreNoMarks(TestDatabase database) {
		this.schema = database.createSchema().withTables();
		LeaseStore before = new JdbcLeaseStore(this.schema.open(), "test");
		assertThat(before.tryAcquireOrRenew("a", "node-a", TTL).acquired()).isTrue();
		this.schema.execute("DROP TABLE fenced_resource");
		assertThat(before.tryAcquireOrRenew("b", "node-a", TTL).acquired()).isTrue();
		LeaseStore after = new JdbcLeaseStore(this.schema.open(), "test");
		assertThat(after.tryAcquireOrRenew("c", "node-a", TTL).acquired()).isTrue();
	}

	private void raise(String namespace, String role, String resource, long token) {
		this.schema.execute("INSERT INTO fenced_resource VALUES ('%s', '%s', '%s', %d, CURRENT_TIMESTAMP)"
			.formatted(namespace, role, resource, token));
	}

	@ParameterizedTest
	@EnumSource
	void standbyWithNothingToTakeSendsOneRead(TestDatabase database) {
		RecordingDataSource dataSource = recording(database);
		LeaseStore leader = new JdbcLeaseStore(this.schema.open(), "test");
		List<LeaseRequest> requests = IntStream.range(0, 50).mapToObj((i) -> acquire("role-" + i)).toList();
		leader.tryAcquireOrRenew("node-a", requests);
		LeaseStore standby = new JdbcLeaseStore(this.schema.open(dataSource), "test");
		standby.tryAcquireOrRenew("node-b", requests);
		dataSource.statements().clear();
		assertThat(standby.tryAcquireOrRenew("node-b", requests)).extracting(LeaseResult::outcome)
			.containsOnly(Outcome.REFUSED);
		assertThat(dataSource.statements()).hasSize(1);
	}

	@ParameterizedTest
	@EnumSource(mode = Mode.EXCLUDE, names = "H2")
	void statementsOfRenewalDoNotGrowWithRoles(TestDatabase database) {
		RecordingDataSource dataSource = recording(database);
		LeaseStore store = new JdbcLeaseStore(this.schema.open(dataSource), "test");
		int one = statementsOfRenewal(store, dataSource, 1);
		assertThat(statementsOfRenewal(store, dataSource, 100)).isEqualTo(one);
	}

	private static int statementsOfRenewal(LeaseStore store, RecordingDataSource dataSource, int count) {
		List<String> roles = IntStream.range(0, count).mapToObj((i) -> count + "-" + i).toList();
		store.tryAcquireOrRenew("node-a", roles.stream().map(JdbcLeaseStoreTests::acquire).toList());
		dataSource.statements().clear();
		assertThat(store.tryAcquireOrRenew("node-a",
				roles.stream().map((role) -> LeaseRequest.renew(role, TTL, 1)).toList()))
			.extracting(LeaseResult::outcome)
			.containsOnly(Outcome.RENEWED);
		return dataSource.statements().size();
	}

	/**
	 * A session that has only seen a few roles may have made a plan for a few.
	 */
	@ParameterizedTest
	@EnumSource(mode = Mode.EXCLUDE, names = "H2")
	void tenThousandRolesAtOnceInSessionThatHasSeenFew(TestDatabase database) {
		this.schema = database.createSchema().withTables();
		LeaseStore store = new JdbcLeaseStore(this.schema.open(), "test");
		for (int i = 0; i < 15; i++) {
			store.tryAcquireOrRenew("node-a", List.of(acquire("role-0"), acquire("role-1")));
		}
		List<LeaseRequest> acquisitions = IntStream.range(0, 10_000).mapToObj((i) -> acquire("role-" + i)).toList();
		assertThat(store.tryAcquireOrRenew("node-a", acquisitions)).hasSize(10_000).allMatch(LeaseResult::acquired);
		List<LeaseRequest> renewals = IntStream.range(0, 10_000)
			.mapToObj((i) -> LeaseRequest.renew("role-" + i, TTL, 1))
			.toList();
		for (int i = 0; i < 3; i++) {
			long start = System.nanoTime();
			assertThat(store.tryAcquireOrRenew("node-a", renewals)).extracting(LeaseResult::outcome)
				.containsOnly(Outcome.RENEWED);
			report("%s renewed 10000 leases in %d ms".formatted(database, (System.nanoTime() - start) / 1_000_000));
		}
	}

	@ParameterizedTest
	@EnumSource
	void lockedRowCostsItsOwnRoleOnly(TestDatabase database) throws Exception {
		this.schema = database.createSchema().withTables();
		LeaseStore store = new JdbcLeaseStore(this.schema.open(), "test");
		store.tryAcquireOrRenew("node-a", List.of(acquire("a"), acquire("b"), acquire("c"), acquire("d")));
		store.release("d", "node-a", 1);
		List<LeaseRequest> requests = List.of(LeaseRequest.renew("a", TTL, 1), LeaseRequest.renew("b", TTL, 1),
				acquire("c"), acquire("d"), acquire("e"));
		try (Connection connection = lock("b", "d")) {
			assertThat(store.tryAcquireOrRenew("node-a", requests)).extracting(LeaseResult::outcome)
				.containsExactly(Outcome.RENEWED, Outcome.BUSY, Outcome.RENEWED, Outcome.BUSY, Outcome.GRANTED);
			// Who cannot take it anyway is told so by what is committed
			assertThat(store.tryAcquireOrRenew("node-b", List.of(acquire("b")))).extracting(LeaseResult::outcome)
				.containsExactly(Outcome.REFUSED);
			connection.rollback();
		}
		assertThat(store.tryAcquireOrRenew("node-a", requests)).extracting(LeaseResult::outcome)
			.containsExactly(Outcome.RENEWED, Outcome.RENEWED, Outcome.RENEWED, Outcome.GRANTED, Outcome.RENEWED);
	}

	@ParameterizedTest
	@EnumSource
	void releaseOfLockedRowFailsWithinItsBound(TestDatabase database) throws Exception {
		this.schema = database.createSchema().withTables();
		LeaseStore store = new JdbcLeaseStore(this.schema.open(), "test");
		store.tryAcquireOrRenew("node-a", List.of(acquire("a")));
		LeaseStore bounded = new JdbcLeaseStore(this.schema.register(JdbcDatabase.builder(this.schema.pool(2))
			.connectionTimeout(Duration.ofSeconds(30))
			.queryTimeout(Duration.ofMillis(1500))
			.build()), "test");
		bounded.findAll();
		try (Connection connection = lock("a")) {
			long start = System.nanoTime();
			assertThatExceptionOfType(DataAccessException.class).isThrownBy(() -> bounded.release("a", "node-a", 1))
				.withMessageContaining("'a'");
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
			connection.rollback();
		}
		// What became of the release that was given up is unknown; to ask again is not
		store.release("a", "node-a", 1);
		assertThat(store.find("a")).hasValueSatisfying((lease) -> assertThat(lease.isLive()).isFalse());
	}

	/**
	 * A leader that is frozen between its lock and its commit must not hold the lock for
	 * as long as it pleases.
	 */
	@Test
	void mariaDbEndsTransactionOfClientThatStopped() throws Exception {
		this.schema = TestDatabase.MARIADB.createSchema().withTables();
		JdbcDatabase database = this.schema.register(JdbcDatabase.builder(this.schema.pool(2))
			.connectionTimeout(Duration.ofSeconds(30))
			.queryTimeout(Duration.ofSeconds(1))
			.build());
		LeaseStore store = new JdbcLeaseStore(database, "test");
		Awaitility.await()
			.ignoreExceptions()
			.atMost(Duration.ofSeconds(30))
			.until(() -> store.tryAcquireOrRenew("node-a", List.of(acquire("a"))).get(0).acquired());
		long bound = database.call("read", (session, dialect) -> {
			((MariaDbDialect) dialect).boundIdleTransactions(session);
			return session.queryForLong("SELECT @@SESSION.idle_transaction_timeout");
		});
		assertThat(bound).isEqualTo(1);
	}

	@ParameterizedTest
	@EnumSource
	void namespacesDoNotSeeEachOther(TestDatabase database) {
		this.schema = database.createSchema().withTables();
		JdbcDatabase jdbcDatabase = this.schema.open();
		LeaseStore one = new JdbcLeaseStore(jdbcDatabase, "one");
		LeaseStore other = new JdbcLeaseStore(jdbcDatabase, "ONE");
		assertThat(one.tryAcquireOrRenew("a", "node-a", TTL).outcome()).isEqualTo(Outcome.GRANTED);
		assertThat(other.findAll()).isEmpty();
		assertThat(other.tryAcquireOrRenew("a", "node-b", TTL).outcome()).isEqualTo(Outcome.GRANTED);
	}

	@Test
	void healsTableThatComesBack() {
		this.schema = TestDatabase.H2.createSchema();
		LeaseStore store = new JdbcLeaseStore(this.schema.open(), "test");
		assertThatExceptionOfType(DataAccessException.class)
			.isThrownBy(() -> store.tryAcquireOrRenew("a", "node-a", TTL));
		this.schema.withTables();
		assertThat(store.tryAcquireOrRenew("a", "node-a", TTL).acquired()).isTrue();
	}

	@Test
	void invalidNamesAreRejected() {
		this.schema = TestDatabase.H2.createSchema();
		JdbcDatabase database = this.schema.open();
		assertThatIllegalArgumentException().isThrownBy(() -> new JdbcLeaseStore(database, "a b"))
			.withMessageContaining("'a b'");
		assertThatIllegalArgumentException()
			.isThrownBy(() -> new JdbcLeaseStore(database, "a").tryAcquireOrRenew("r", "", TTL));
	}

	private RecordingDataSource recording(TestDatabase database) {
		this.schema = database.createSchema().withTables();
		return new RecordingDataSource(this.schema.pool(2));
	}

	private Connection lock(String... roles) throws Exception {
		Connection connection = this.schema.connect();
		connection.setAutoCommit(false);
		for (String role : roles) {
			try (PreparedStatement statement = connection
				.prepareStatement("SELECT role FROM fenced_lease WHERE namespace = 'test' AND role = ? FOR UPDATE")) {
				statement.setString(1, role);
				statement.executeQuery().close();
			}
		}
		return connection;
	}

	private static LeaseRequest acquire(String role) {
		return LeaseRequest.acquire(role, TTL, 0);
	}

	@SuppressWarnings("SystemOut")
	private static void report(String message) {
		System.out.println("[jdbc] " + message);
	}

}
