package io.github.fencedleadership.benchmarks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;

import com.zaxxer.hikari.HikariDataSource;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.jdbc.FencedTransactionTemplate;
import io.github.fencedleadership.jdbc.JdbcDatabase;
import io.github.fencedleadership.jdbc.JdbcFencingGuard;
import io.github.fencedleadership.jdbc.JdbcLeaseStore;

/**
 * Transactions with a guard and without, in turns.
 */
final class Writes {

	private static final int WRITERS = 8;

	private static final int LONG_TRANSACTION = 5;

	private Writes() {
	}

	static void measure(Scale scale, Database.Server server, Table table) throws Exception {
		HikariDataSource pool = server.pool(WRITERS + 2);
		for (int id = 0; id < WRITERS * LONG_TRANSACTION; id++) {
			server.execute("INSERT INTO account (id, balance) VALUES (%d, 0)".formatted(id));
		}
		JdbcDatabase.Builder builder = JdbcDatabase.builder(pool)
			.connectionTimeout(Duration.ofSeconds(30))
			.queryTimeout(Duration.ofSeconds(30));
		try (JdbcDatabase database = builder.build();
				JdbcFencingGuard guard = new JdbcFencingGuard(builder.build(), pool, "writes",
						Duration.ofSeconds(30))) {
			FencingToken token = new FencingToken("accounts",
					new JdbcLeaseStore(database, "writes").tryAcquireOrRenew("accounts", "owner", Duration.ofHours(1))
						.fencingToken());
			JdbcTransactionManager transactions = new JdbcTransactionManager(pool);
			TransactionTemplate plain = new TransactionTemplate(transactions);
			FencedTransactionTemplate fenced = new FencedTransactionTemplate(transactions, guard);
			JdbcTemplate jdbc = new JdbcTemplate(pool);
			Comparison one = compare(scale, 1,
					(writer) -> plain.executeWithoutResult((status) -> update(jdbc, writer, 1)),
					(writer) -> fenced.executeWithoutResult("accounts", token, (status) -> update(jdbc, writer, 1)));
			Comparison five = compare(scale, 1,
					(writer) -> plain.executeWithoutResult((status) -> update(jdbc, writer, LONG_TRANSACTION)),
					(writer) -> fenced.executeWithoutResult("accounts", token,
							(status) -> update(jdbc, writer, LONG_TRANSACTION)));
			Comparison many = compare(scale, WRITERS,
					(writer) -> plain.executeWithoutResult((status) -> update(jdbc, writer, 1)),
					(writer) -> fenced.executeWithoutResult("accounts", token, (status) -> update(jdbc, writer, 1)));
			one.report(table, server.database(), 1, 1, "-");
			five.report(table, server.database(), 1, LONG_TRANSACTION, "-");
			many.report(table, server.database(), WRITERS, 1,
					Samples.times(many.guarded.median() / one.guarded.median()) + " (plain "
							+ Samples.times(many.plain.median() / one.plain.median()) + ")");
		}
	}

	private static void update(JdbcTemplate jdbc, int writer, int statements) {
		for (int i = 0; i < statements; i++) {
			jdbc.update("UPDATE account SET balance = balance + 1 WHERE id = ?", writer * LONG_TRANSACTION + i);
		}
	}

	private static Comparison compare(Scale scale, int writers, IntConsumer plain, IntConsumer guarded)
			throws Exception {
		Comparison comparison = new Comparison(new Samples(), new Samples(), new Samples());
		for (int round = -1; round < scale.rounds(); round++) {
			double plainRate = rate(scale.slice(), writers, plain);
			double guardedRate = rate(scale.slice(), writers, guarded);
			if (round >= 0) {
				comparison.plain.add(plainRate);
				comparison.guarded.add(guardedRate);
				comparison.ratio.add(plainRate / guardedRate);
			}
		}
		return comparison;
	}

	private static double rate(Duration duration, int writers, IntConsumer transaction) throws Exception {
		ExecutorService executor = Executors.newFixedThreadPool(writers);
		try {
			long start = System.nanoTime();
			List<Future<Long>> counts = new ArrayList<>();
			for (int i = 0; i < writers; i++) {
				int writer = i;
				counts.add(executor.submit(() -> {
					long count = 0;
					while (System.nanoTime() - start < duration.toNanos()) {
						transaction.accept(writer);
						count++;
					}
					return count;
				}));
			}
			long total = 0;
			for (Future<Long> count : counts) {
				total += count.get();
			}
			return total * 1e9 / (System.nanoTime() - start);
		}
		finally {
			executor.shutdown();
			executor.awaitTermination(1, TimeUnit.MINUTES);
		}
	}

	/**
	 * Transactions per second, and how many times as long a guarded one takes.
	 */
	private record Comparison(Samples plain, Samples guarded, Samples ratio) {

		void report(Table table, Database database, int writers, int statements, String scaling) {
			table.row(database, writers, statements, this.plain, this.guarded, Samples.times(this.ratio.median()),
					this.ratio.spread(), scaling);
		}

	}

}
