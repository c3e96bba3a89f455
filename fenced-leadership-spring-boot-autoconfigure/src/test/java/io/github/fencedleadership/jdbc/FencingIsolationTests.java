package io.github.fencedleadership.jdbc;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import com.zaxxer.hikari.HikariDataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.dao.TransientDataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.fencing.FencingGuard;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.StaleFencingTokenException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * What the guard gives at each isolation level of each database, with several processes
 * that each have a guard of their own.
 */
@Timeout(120)
class FencingIsolationTests {

	private static final Duration BOUND = Duration.ofSeconds(60);

	private static final int WRITERS = 8;

	private static final int TERMS = 5;

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private TestSchema schema;

	private HikariDataSource dataSource;

	private JdbcTemplate jdbc;

	static Stream<Arguments> databasesAndLevels() {
		return Stream.of(TestDatabase.values())
			.flatMap((database) -> Stream.of(Level.values()).map((level) -> Arguments.of(database, level)));
	}

	@AfterEach
	void close() {
		this.threads.shutdownNow();
		if (this.schema != null) {
			this.schema.close();
		}
	}

	private void open(TestDatabase database, boolean leases) {
		this.schema = database.createSchema().withTables();
		this.dataSource = this.schema.pool(WRITERS + 4);
		this.jdbc = new JdbcTemplate(this.dataSource);
		this.jdbc.execute("CREATE TABLE written (id INT PRIMARY KEY, fencing_token BIGINT NOT NULL)");
		if (!leases) {
			this.jdbc.execute("DROP TABLE fenced_lease");
		}
	}

	/**
	 * The marks alone have to do it here, since the guard sees no leases. A write that
	 * has committed was still running when {@code lastInside} was read; no higher token
	 * may have been accepted before that.
	 */
	@ParameterizedTest
	@MethodSource("databasesAndLevels")
	void acceptedTokensNeverFallInTheOrderOfTheCommits(TestDatabase database, Level level) throws Exception {
		open(database, false);
		List<FencingGuard> processes = List.of(guard(), guard());
		AtomicLong term = new AtomicLong(1);
		AtomicBoolean stop = new AtomicBoolean();
		AtomicInteger ids = new AtomicInteger();
		Queue<Write> writes = new ConcurrentLinkedQueue<>();
		AtomicInteger refused = new AtomicInteger();
		AtomicInteger triedAgain = new AtomicInteger();
		List<Future<?>> writers = IntStream.range(0, WRITERS).<Future<?>>mapToObj((i) -> this.threads.submit(() -> {
			FencingGuard guard = processes.get(i % processes.size());
			while (!stop.get()) {
				FencingToken token = new FencingToken("reports", term.get());
				dawdle();
				try {
					writes.add(write(level, guard, token, ids.incrementAndGet()));
				}
				catch (StaleFencingTokenException ex) {
					refused.incrementAndGet();
				}
				catch (TransientDataAccessException ex) {
					triedAgain.incrementAndGet();
				}
			}
		})).toList();
		try {
			for (int i = 1; i <= TERMS; i++) {
				long current = i;
				Awaitility.await()
					.atMost(BOUND)
					.pollInterval(Duration.ofMillis(5))
					.until(() -> writers.stream().anyMatch(Future::isDone)
							|| writes.stream().filter((write) -> write.token() == current).count() >= 10);
				term.incrementAndGet();
			}
		}
		finally {
			stop.set(true);
		}
		for (Future<?> writer : writers) {
			writer.get(BOUND.toSeconds(), TimeUnit.SECONDS);
		}
		List<Write> accepted = List.copyOf(writes);
		for (Write write : accepted) {
			assertThat(accepted)
				.noneMatch((other) -> other.token() > write.token() && other.checked() < write.lastInside());
		}
		assertThat(accepted).extracting(Write::token).contains(1L, 2L, 3L, 4L, 5L);
		List<Integer> present = this.jdbc.queryForList("SELECT id FROM written", Integer.class);
		assertThat(present).containsExactlyInAnyOrderElementsOf(accepted.stream().map(Write::id).toList());
		System.out.printf("[fencing isolation] %s %s: %d accepted, %d refused, %d worth another try%n", database, level,
				accepted.size(), refused.get(), triedAgain.get());
	}

	private Write write(Level level, FencingGuard guard, FencingToken token, int id) {
		guard.prepare("ledger", token);
		Write write = transaction(level).execute((status) -> {
			guard.check("ledger", token);
			long checked = System.nanoTime();
			this.jdbc.update("INSERT INTO written VALUES (?, ?)", id, token.value());
			dawdle();
			return new Write(id, token.value(), checked, System.nanoTime());
		});
		assertThat(write).isNotNull();
		return write;
	}

	private static void dawdle() {
		LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(TimeUnit.MILLISECONDS.toNanos(3)));
	}

	@ParameterizedTest
	@MethodSource("databasesAndLevels")
	void writersOfATermRunSideBySideAndANewerTermWaitsForThem(TestDatabase database, Level level) throws Exception {
		open(database, false);
		FencingGuard guard = guard();
		FencingToken older = new FencingToken("reports", 1);
		FencingToken newer = new FencingToken("reports", 2);
		guard.prepare("ledger", older);
		// H2 has no shared locks of rows.
		int count = (database == TestDatabase.H2) ? 1 : 3;
		CountDownLatch inside = new CountDownLatch(count);
		CountDownLatch mayCommit = new CountDownLatch(1);
		List<Future<?>> writers = IntStream.range(0, count)
			.<Future<?>>mapToObj((i) -> this.threads.submit(() -> transaction(level).executeWithoutResult((status) -> {
				guard.check("ledger", older);
				inside.countDown();
				await(mayCommit);
				this.jdbc.update("INSERT INTO written VALUES (?, 1)", i);
			})))
			.toList();
		assertThat(inside.await(BOUND.toSeconds(), TimeUnit.SECONDS)).isTrue();
		FencingGuard successor = guard();
		Future<Long> seen = this.threads.submit(() -> {
			successor.prepare("ledger", newer);
			return transaction(level).execute((status) -> {
				successor.check("ledger", newer);
				return this.jdbc.queryForObject("SELECT count(*) FROM written", Long.class);
			});
		});
		Awaitility.await().during(Duration.ofMillis(200)).atMost(BOUND).until(() -> !seen.isDone());
		mayCommit.countDown();
		for (Future<?> writer : writers) {
			writer.get(BOUND.toSeconds(), TimeUnit.SECONDS);
		}
		assertThat(seen.get(BOUND.toSeconds(), TimeUnit.SECONDS)).isEqualTo(count);
		assertThatExceptionOfType(StaleFencingTokenException.class)
			.isThrownBy(() -> transaction(level).executeWithoutResult((status) -> guard.check("ledger", older)));
	}

	@ParameterizedTest
	@MethodSource("databasesAndLevels")
	void aMarkThatWasRaisedAfterTheSnapshotIsNotOverlooked(TestDatabase database, Level level) {
		open(database, false);
		FencingGuard guard = guard();
		FencingToken older = new FencingToken("reports", 1);
		FencingToken newer = new FencingToken("reports", 2);
		transaction(level).executeWithoutResult((status) -> guard.check("ledger", older));
		AtomicInteger attempts = new AtomicInteger();
		FencingGuard successor = guard();
		assertThatExceptionOfType(StaleFencingTokenException.class)
			.isThrownBy(() -> retrying(attempts, () -> transaction(level).executeWithoutResult((status) -> {
				takeSnapshot();
				successor.prepare("ledger", newer);
				guard.check("ledger", older);
			})));
		assertThat(attempts).hasValueLessThanOrEqualTo(2);
		if (level == Level.READ_COMMITTED) {
			assertThat(attempts).hasValue(1);
		}
	}

	@ParameterizedTest
	@MethodSource("databasesAndLevels")
	void aTermThatBeganAfterTheSnapshotIsNotTakenForUnknown(TestDatabase database, Level level) {
		open(database, true);
		JdbcLeaseStore leases = new JdbcLeaseStore(this.schema.open(), "app");
		FencingGuard guard = guard();
		FencingToken older = elect(leases);
		transaction(level).executeWithoutResult((status) -> guard.check("ledger", older));
		AtomicInteger attempts = new AtomicInteger();
		List<FencingToken> newer = new ArrayList<>();
		retrying(attempts, () -> transaction(level).executeWithoutResult((status) -> {
			takeSnapshot();
			if (newer.isEmpty()) {
				newer.add(elect(leases));
			}
			guard.check("ledger", newer.get(0));
		}));
		assertThat(attempts).hasValueLessThanOrEqualTo(2);
		assertThatExceptionOfType(StaleFencingTokenException.class)
			.isThrownBy(() -> transaction(level).executeWithoutResult((status) -> guard.check("ledger", older)));
	}

	/**
	 * The table in the documentation.
	 */
	@ParameterizedTest
	@MethodSource("databasesAndLevels")
	void theLookAtTheLeaseSeesWhatIsDocumented(TestDatabase database, Level level) {
		open(database, true);
		JdbcLeaseStore leases = new JdbcLeaseStore(this.schema.open(), "app");
		FencingGuard guard = guard();
		FencingToken older = elect(leases);
		guard.prepare("ledger", older);
		boolean asOfSnapshot = switch (database) {
			// Each table as of when it is first read in the transaction
			case H2 -> level == Level.SERIALIZABLE;
			case MARIADB, MYSQL -> level == Level.REPEATABLE_READ;
			case POSTGRESQL -> level != Level.READ_COMMITTED;
		};
		AtomicBoolean accepted = new AtomicBoolean();
		try {
			transaction(level).executeWithoutResult((status) -> {
				takeSnapshot();
				elect(leases);
				guard.check("ledger", older);
				accepted.set(true);
			});
		}
		catch (StaleFencingTokenException ex) {
			assertThat(ex.getNewerToken()).isEqualTo(2);
		}
		assertThat(accepted.get()).as("accepted although a newer term was granted after the snapshot")
			.isEqualTo(asOfSnapshot);
		assertThatExceptionOfType(StaleFencingTokenException.class)
			.isThrownBy(() -> transaction(level).executeWithoutResult((status) -> guard.check("ledger", older)));
	}

	@ParameterizedTest
	@MethodSource("databasesAndLevels")
	void aMarkThatWasDeletedIsHealedByTheNextTryAtTheLatest(TestDatabase database, Level level) {
		open(database, false);
		FencingGuard guard = guard();
		FencingToken token = new FencingToken("reports", 3);
		transaction(level).executeWithoutResult((status) -> guard.check("ledger", token));
		this.jdbc.execute("DELETE FROM fenced_resource");
		AtomicInteger attempts = new AtomicInteger();
		long start = System.nanoTime();
		retrying(attempts, () -> transaction(level).executeWithoutResult((status) -> guard.check("ledger", token)));
		assertThat(attempts).hasValueLessThanOrEqualTo(2);
		assertThat(Duration.ofNanos(System.nanoTime() - start)).as("nothing waits for itself")
			.isLessThan(Duration.ofSeconds(20));
		assertThat(this.jdbc.queryForObject("SELECT fencing_token FROM fenced_resource", Long.class)).isEqualTo(3);
	}

	@ParameterizedTest
	@MethodSource("databasesAndLevels")
	void aMarkThatWasLoweredIsHealedByTheNextTryAtTheLatest(TestDatabase database, Level level) {
		open(database, false);
		FencingGuard guard = guard();
		FencingToken token = new FencingToken("reports", 3);
		transaction(level).executeWithoutResult((status) -> guard.check("ledger", token));
		this.jdbc.execute("UPDATE fenced_resource SET fencing_token = 1");
		AtomicInteger attempts = new AtomicInteger();
		long start = System.nanoTime();
		retrying(attempts, () -> transaction(level).executeWithoutResult((status) -> guard.check("ledger", token)));
		assertThat(attempts).hasValueLessThanOrEqualTo(2);
		assertThat(Duration.ofNanos(System.nanoTime() - start)).as("nothing waits for itself")
			.isLessThan(Duration.ofSeconds(20));
		assertThat(this.jdbc.queryForObject("SELECT fencing_token FROM fenced_resource", Long.class)).isEqualTo(3);
	}

	@ParameterizedTest
	@EnumSource(TestDatabase.class)
	void aTransactionOfItsOwnInsideOfAnotherSharesTheMark(TestDatabase database) {
		open(database, false);
		FencingGuard guard = guard();
		FencingToken token = new FencingToken("reports", 1);
		TransactionTemplate inner = transaction(Level.READ_COMMITTED);
		inner.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
		Runnable both = () -> transaction(Level.READ_COMMITTED).executeWithoutResult((status) -> {
			guard.check("ledger", token);
			this.jdbc.update("INSERT INTO written VALUES (1, 1)");
			inner.executeWithoutResult((innerStatus) -> {
				guard.check("ledger", token);
				this.jdbc.update("INSERT INTO written VALUES (2, 1)");
			});
			status.setRollbackOnly();
		});
		if (database == TestDatabase.H2) {
			// It has no shared locks, so the inner one waits for the outer one.
			assertThatExceptionOfType(TransientDataAccessException.class).isThrownBy(both::run);
			return;
		}
		assertThatNoException().isThrownBy(both::run);
		assertThat(this.jdbc.queryForList("SELECT id FROM written", Integer.class)).containsExactly(2);
	}

	private static FencingToken elect(JdbcLeaseStore leases) {
		leases.find("reports").ifPresent((lease) -> leases.release("reports", lease.ownerId(), lease.fencingToken()));
		return new FencingToken("reports",
				leases.tryAcquireOrRenew("reports", UUID.randomUUID().toString(), Duration.ofMinutes(5))
					.fencingToken());
	}

	private void takeSnapshot() {
		this.jdbc.queryForObject("SELECT count(*) FROM written", Long.class);
	}

	private static void retrying(AtomicInteger attempts, Runnable work) {
		while (true) {
			attempts.incrementAndGet();
			try {
				work.run();
				return;
			}
			catch (TransientDataAccessException ex) {
				if (attempts.get() == 5) {
					throw ex;
				}
			}
		}
	}

	private static void await(CountDownLatch latch) {
		try {
			assertThat(latch.await(BOUND.toSeconds(), TimeUnit.SECONDS)).isTrue();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private JdbcFencingGuard guard() {
		return new JdbcFencingGuard(this.schema.open(), this.dataSource, "app", Duration.ofSeconds(30));
	}

	private TransactionTemplate transaction(Level level) {
		TransactionTemplate transaction = new TransactionTemplate(new JdbcTransactionManager(this.dataSource));
		transaction.setIsolationLevel(level.value);
		return transaction;
	}

	enum Level {

		READ_COMMITTED(TransactionDefinition.ISOLATION_READ_COMMITTED),

		REPEATABLE_READ(TransactionDefinition.ISOLATION_REPEATABLE_READ),

		SERIALIZABLE(TransactionDefinition.ISOLATION_SERIALIZABLE);

		private final int value;

		Level(int value) {
			this.value = value;
		}

	}

	/**
	 * A write that has committed.
	 *
	 * @param id its row
	 * @param token its token
	 * @param checked when the token had just been accepted
	 * @param lastInside when it had not been committed yet
	 */
	private record Write(int id, long token, long checked, long lastInside) {

	}

}
