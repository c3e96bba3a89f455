package io.github.fencedleadership.jdbc;

import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.dao.TransientDataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.fencing.FencingGuard;
import io.github.fencedleadership.fencing.FencingGuardContract;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.StaleFencingTokenException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * Tests for {@link JdbcFencingGuard} on one database.
 */
@Timeout(180)
abstract class JdbcFencingGuardContract extends FencingGuardContract {

	private static final Duration IDLE = Duration.ofSeconds(30);

	private final TestDatabase database;

	private TestSchema schema;

	private DataSource dataSource;

	private JdbcTemplate jdbc;

	private PlatformTransactionManager transactionManager;

	private JdbcLeaseStore leases;

	private final ExecutorService threads = Executors.newCachedThreadPool();

	JdbcFencingGuardContract(TestDatabase database) {
		this.database = database;
	}

	@BeforeEach
	void open() {
		this.schema = this.database.createSchema().withTables();
		this.dataSource = this.schema.pool(16);
		this.jdbc = new JdbcTemplate(this.dataSource);
		this.jdbc.execute("CREATE TABLE written (id INT PRIMARY KEY, fencing_token BIGINT NOT NULL)");
		this.transactionManager = new JdbcTransactionManager(this.dataSource);
		this.leases = new JdbcLeaseStore(this.schema.open(), "app");
	}

	@AfterEach
	void close() {
		this.threads.shutdownNow();
		if (this.schema != null) {
			this.schema.close();
		}
	}

	@Override
	protected JdbcFencingGuard guard() {
		this.jdbc.execute("DROP TABLE fenced_lease");
		return newGuard(this.dataSource);
	}

	@Override
	protected JdbcFencingGuard guardThatSeesLeases() {
		return newGuard(this.dataSource);
	}

	private JdbcFencingGuard newGuard(DataSource guarded) {
		return new JdbcFencingGuard(this.schema.open(), guarded, "app", IDLE);
	}

	@Override
	protected FencingToken elect(String role) {
		this.leases.find(role).ifPresent((lease) -> this.leases.release(role, lease.ownerId(), lease.fencingToken()));
		return new FencingToken(role,
				this.leases.tryAcquireOrRenew(role, UUID.randomUUID().toString(), Duration.ofMinutes(5))
					.fencingToken());
	}

	@Override
	protected void check(FencingGuard guard, String resource, FencingToken token) {
		transaction().executeWithoutResult((status) -> guard.check(resource, token));
	}

	@Test
	void needsATransaction() {
		JdbcFencingGuard guard = guardThatSeesLeases();
		FencingToken token = elect("reports");
		assertThatExceptionOfType(IllegalTransactionStateException.class).isThrownBy(() -> guard.check("ledger", token))
			.withMessageContaining("'ledger'");
		assertThat(marks()).isZero();
	}

	@Test
	void needsATransactionOfItsOwnDataSource() {
		JdbcFencingGuard guard = guardThatSeesLeases();
		FencingToken token = elect("reports");
		TransactionTemplate other = new TransactionTemplate(new DataSourceTransactionManager(this.schema.pool(1)));
		assertThatExceptionOfType(IllegalTransactionStateException.class)
			.isThrownBy(() -> other.executeWithoutResult((status) -> guard.check("ledger", token)))
			.withMessageContaining("of another");
		// Nor is it enough that the DataSource has been used meanwhile.
		assertThatExceptionOfType(IllegalTransactionStateException.class)
			.isThrownBy(() -> other.executeWithoutResult((status) -> {
				this.jdbc.queryForObject("SELECT count(*) FROM written", Long.class);
				guard.check("ledger", token);
			}))
			.withMessageContaining("of another");
		assertThat(marks()).isZero();
	}

	@Test
	void needsATransactionThatMayWrite() {
		JdbcFencingGuard guard = guardThatSeesLeases();
		FencingToken token = elect("reports");
		TransactionTemplate readOnly = transaction();
		readOnly.setReadOnly(true);
		assertThatExceptionOfType(IllegalTransactionStateException.class)
			.isThrownBy(() -> readOnly.executeWithoutResult((status) -> guard.check("ledger", token)))
			.withMessageContaining("read-only");
		assertThat(marks()).isZero();
	}

	@Test
	void worksThroughProxiesOfTheDataSource() {
		FencingToken token = elect("reports");
		DataSource aware = new TransactionAwareDataSourceProxy(this.dataSource);
		assertThatNoException()
			.isThrownBy(() -> transaction().executeWithoutResult((status) -> newGuard(aware).check("ledger", token)));
		LazyConnectionDataSourceProxy lazy = new LazyConnectionDataSourceProxy(this.dataSource);
		TransactionTemplate lazily = new TransactionTemplate(new DataSourceTransactionManager(lazy));
		assertThatNoException()
			.isThrownBy(() -> lazily.executeWithoutResult((status) -> newGuard(lazy).check("ledger", token)));
	}

	@Test
	void aRefusalIsNotWorthAnotherTry() {
		assertThat(TransientDataAccessException.class.isAssignableFrom(StaleFencingTokenException.class)).isFalse();
	}

	@Test
	void aMarkThatWasDeletedIsHealedWithoutLettingAnOlderTokenIn() {
		JdbcFencingGuard guard = guardThatSeesLeases();
		FencingToken first = elect("reports");
		check(guard, "ledger", first);
		FencingToken second = elect("reports");
		check(guard, "ledger", second);
		this.jdbc.execute("DELETE FROM fenced_resource");
		assertThatExceptionOfType(StaleFencingTokenException.class).isThrownBy(() -> check(guard, "ledger", first));
		retrying(TransactionDefinition.ISOLATION_DEFAULT, guard, second);
		assertThat(this.jdbc.queryForObject("SELECT fencing_token FROM fenced_resource", Long.class))
			.isEqualTo(second.value());
	}

	@Test
	void aMissingTableIsTold() {
		this.jdbc.execute("DROP TABLE fenced_resource");
		JdbcFencingGuard guard = guardThatSeesLeases();
		FencingToken token = elect("reports");
		assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> check(guard, "ledger", token))
			.withMessageContaining("'fenced_resource'")
			.withMessageContaining("initialize-schema");
	}

	@Test
	void aWriteThatRollsBackLeavesItsMarkAndNothingElse() {
		JdbcFencingGuard guard = guardThatSeesLeases();
		FencingToken token = elect("reports");
		transaction().executeWithoutResult((status) -> {
			guard.check("ledger", token);
			this.jdbc.update("INSERT INTO written VALUES (1, ?)", token.value());
			status.setRollbackOnly();
		});
		assertThat(this.jdbc.queryForObject("SELECT count(*) FROM written", Long.class)).isZero();
		assertThat(marks()).isOne();
		assertThatNoException().isThrownBy(() -> check(guard, "ledger", token));
	}

	@ParameterizedTest
	@ValueSource(ints = { TransactionDefinition.ISOLATION_READ_COMMITTED,
			TransactionDefinition.ISOLATION_REPEATABLE_READ, TransactionDefinition.ISOLATION_SERIALIZABLE })
	void aStaleWriterIsRefusedAtEveryIsolationLevel(int isolation) {
		JdbcFencingGuard guard = guardThatSeesLeases();
		TransactionTemplate transaction = transaction();
		transaction.setIsolationLevel(isolation);
		FencingToken first = elect("reports");
		transaction.executeWithoutResult((status) -> guard.check("ledger", first));
		FencingToken second = elect("reports");
		assertThatExceptionOfType(StaleFencingTokenException.class)
			.isThrownBy(() -> transaction.executeWithoutResult((status) -> guard.check("ledger", first)));
		transaction.executeWithoutResult((status) -> guard.check("ledger", second));
		// A fenced transaction, however long, does not keep the lease from being renewed.
		transaction.executeWithoutResult((status) -> {
			guard.check("ledger", second);
			String owner = this.leases.find("reports").orElseThrow().ownerId();
			assertThat(this.leases.tryAcquireOrRenew("reports", owner, Duration.ofMinutes(5)).acquired()).isTrue();
		});
	}

	@Test
	void writersOfATermRunSideBySideAndANewerTermWaitsForThem() throws Exception {
		JdbcFencingGuard guard = guard();
		FencingToken older = new FencingToken("reports", 1);
		FencingToken newer = new FencingToken("reports", 2);
		check(guard, "ledger", older);
		CountDownLatch inside = new CountDownLatch((this.database == TestDatabase.H2) ? 1 : 2);
		CountDownLatch mayCommit = new CountDownLatch(1);
		List<Future<?>> writers = IntStream.range(0, (int) inside.getCount())
			.<Future<?>>mapToObj((i) -> this.threads.submit(() -> transaction().executeWithoutResult((status) -> {
				guard.check("ledger", older);
				inside.countDown();
				await(mayCommit);
				this.jdbc.update("INSERT INTO written VALUES (?, 1)", i);
			})))
			.toList();
		assertThat(inside.await(60, TimeUnit.SECONDS)).isTrue();
		CompletableFuture<Long> seenByNewer = CompletableFuture.supplyAsync(() -> transaction().execute((status) -> {
			newGuard(this.dataSource).check("ledger", newer);
			return this.jdbc.queryForObject("SELECT count(*) FROM written", Long.class);
		}), this.threads);
		Awaitility.await()
			.during(Duration.ofMillis(300))
			.atMost(Duration.ofSeconds(60))
			.until(() -> !seenByNewer.isDone());
		mayCommit.countDown();
		for (Future<?> writer : writers) {
			writer.get(60, TimeUnit.SECONDS);
		}
		assertThat(seenByNewer.get(60, TimeUnit.SECONDS)).isEqualTo(writers.size());
		assertThatExceptionOfType(StaleFencingTokenException.class).isThrownBy(() -> check(guard, "ledger", older));
	}

	@ParameterizedTest
	@ValueSource(ints = { TransactionDefinition.ISOLATION_READ_COMMITTED,
			TransactionDefinition.ISOLATION_REPEATABLE_READ, TransactionDefinition.ISOLATION_SERIALIZABLE })
	void manyThreadsThatRaiseAtOnceDoNotDeadlock(int isolation) throws Exception {
		JdbcFencingGuard guard = guard();
		for (long term = 1; term <= 5; term++) {
			FencingToken token = new FencingToken("reports", term);
			List<Future<?>> writers = IntStream.range(0, 8)
				.<Future<?>>mapToObj((i) -> this.threads.submit(() -> retrying(isolation, guard, token)))
				.toList();
			for (Future<?> writer : writers) {
				writer.get(90, TimeUnit.SECONDS);
			}
		}
		assertThat(this.jdbc.queryForObject("SELECT fencing_token FROM fenced_resource", Long.class)).isEqualTo(5);
	}

	private void retrying(int isolation, FencingGuard guard, FencingToken token) {
		TransactionTemplate transaction = transaction();
		transaction.setIsolationLevel(isolation);
		for (int attempt = 1;; attempt++) {
			try {
				transaction.executeWithoutResult((status) -> guard.check("ledger", token));
				return;
			}
			catch (TransientDataAccessException ex) {
				if (attempt == 20) {
					throw ex;
				}
			}
		}
	}

	@Test
	void aCheckIsForgottenWithItsSavepointAndMadeAgain() {
		JdbcFencingGuard guard = guard();
		FencingToken token = new FencingToken("reports", 1);
		TransactionTemplate nested = transaction();
		nested.setPropagationBehavior(TransactionDefinition.PROPAGATION_NESTED);
		transaction().executeWithoutResult((outer) -> {
			nested.executeWithoutResult((inner) -> {
				guard.check("ledger", token);
				inner.setRollbackOnly();
			});
			guard.check("ledger", token);
			this.jdbc.update("INSERT INTO written VALUES (1, 1)");
		});
		assertThat(this.jdbc.queryForObject("SELECT count(*) FROM written", Long.class)).isOne();
	}

	private TransactionTemplate transaction() {
		return new TransactionTemplate(this.transactionManager);
	}

	private long marks() {
		return this.jdbc.queryForObject("SELECT count(*) FROM fenced_resource", Long.class);
	}

	private static void await(CountDownLatch latch) {
		try {
			latch.await(60, TimeUnit.SECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

}
