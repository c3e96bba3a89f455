package io.github.fencedleadership.jdbc;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;
import io.github.fencedleadership.lease.LeaseStore;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Two nodes contend for 500 roles for half a minute, on all databases at the same time:
 * not one deadlock, not one duplicate key, not one error of any kind.
 */
class JdbcLeaseStoreContentionTests {

	private static final int NODES = 2;

	private static final int ROLES = 500;

	private static final long DURATION = TimeUnit.SECONDS.toNanos(30);

	@Test
	void contentionForManyRolesIsFreeOfErrors() throws Exception {
		List<TestSchema> schemas = new ArrayList<>();
		for (TestDatabase database : List.of(TestDatabase.POSTGRESQL, TestDatabase.MARIADB, TestDatabase.MYSQL)) {
			try {
				schemas.add(database.createSchema().withTables());
			}
			catch (TestAbortedException ex) {
				// It has said so
			}
		}
		ExecutorService executor = Executors.newCachedThreadPool();
		try {
			List<Future<Void>> results = executor.invokeAll(schemas.stream().map((schema) -> (Callable<Void>) () -> {
				contend(schema, executor);
				return null;
			}).toList());
			for (Future<Void> result : results) {
				result.get();
			}
		}
		finally {
			executor.shutdownNow();
			schemas.forEach(TestSchema::close);
		}
	}

	private static void contend(TestSchema schema, ExecutorService executor) throws Exception {
		long deadlocksBefore = deadlocks(schema);
		List<RecordingDataSource> dataSources = new ArrayList<>();
		List<Future<?>> nodes = new ArrayList<>();
		AtomicLong grants = new AtomicLong();
		long deadline = System.nanoTime() + DURATION;
		for (int i = 0; i < NODES; i++) {
			RecordingDataSource dataSource = new RecordingDataSource(schema.pool(2));
			dataSources.add(dataSource);
			LeaseStore store = new JdbcLeaseStore(schema.open(dataSource), "test");
			String owner = "node-" + i;
			int seed = i;
			nodes.add(executor.submit(() -> node(store, owner, new Random(seed), deadline, grants)));
		}
		for (Future<?> node : nodes) {
			node.get(3, TimeUnit.MINUTES);
		}
		for (RecordingDataSource dataSource : dataSources) {
			assertThat(dataSource.errors()).as(schema.toString()).extracting(SQLException::getMessage).isEmpty();
		}
		assertThat(deadlocks(schema)).as(schema.toString()).isEqualTo(deadlocksBefore);
		assertThat(schema.database().serverLog()).as(schema.toString())
			.doesNotContain("deadlock detected")
			.doesNotContainPattern("duplicate key.*fenced_lease_pkey");
		assertThat(new JdbcLeaseStore(schema.open(), "test").findAll()).hasSize(ROLES)
			.extracting(Lease::fencingToken)
			.allMatch((token) -> token >= 1);
		assertThat(grants).as(schema.toString()).hasValueGreaterThan(ROLES);
	}

	private static void node(LeaseStore store, String owner, Random random, long deadline, AtomicLong grants) {
		long[] held = new long[ROLES];
		// Both ask for the roles in an order of their own
		List<Integer> order = new ArrayList<>(IntStream.range(0, ROLES).boxed().toList());
		Collections.shuffle(order, random);
		while (System.nanoTime() < deadline) {
			List<LeaseRequest> requests = new ArrayList<>();
			for (int role : order) {
				Duration ttl = Duration.ofMillis(50 + random.nextInt(500));
				String name = "role-" + role;
				if (held[role] == 0) {
					requests.add(LeaseRequest.acquire(name, ttl, 0));
				}
				else if (random.nextInt(3) > 0) {
					requests.add(LeaseRequest.renew(name, ttl, held[role]));
				}
				else if (random.nextInt(50) == 0) {
					store.release(name, owner, held[role]);
					held[role] = 0;
				}
			}
			for (LeaseResult result : store.tryAcquireOrRenew(owner, requests)) {
				int role = Integer.parseInt(result.role().substring("role-".length()));
				if (result.outcome() != Outcome.BUSY) {
					held[role] = result.acquired() ? result.fencingToken() : 0;
				}
				if (result.outcome() == Outcome.GRANTED) {
					grants.incrementAndGet();
				}
			}
		}
	}

	private static long deadlocks(TestSchema schema) {
		return schema.queryForLong((schema.database() == TestDatabase.POSTGRESQL)
				? "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
				: (schema.database() == TestDatabase.MARIADB)
						? "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Innodb_deadlocks'"
						: "SELECT count FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'");
	}

}
