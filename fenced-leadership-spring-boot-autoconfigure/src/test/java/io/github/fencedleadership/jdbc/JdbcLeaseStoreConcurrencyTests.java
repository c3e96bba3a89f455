package io.github.fencedleadership.jdbc;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.LeaseHistory;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;
import io.github.fencedleadership.lease.LeaseStore;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Sixteen threads of four owners want the same role: tokens rise (G1), and at most one
 * lease is live at any instant (G2).
 */
class JdbcLeaseStoreConcurrencyTests {

	private static final int THREADS = 16;

	private static final int OWNERS = 4;

	private static final long DURATION = TimeUnit.SECONDS.toNanos(4);

	private static final Duration TTL = Duration.ofMillis(20);

	private static final String ROLE = "reports";

	@Test
	void modelKeepsItsGuarantees() throws Exception {
		LeaseStore store = new InMemoryLeaseStore(Instant::now);
		contend(List.of(store, store, store, store), TimeUnit.SECONDS.toNanos(1));
	}

	@ParameterizedTest
	@EnumSource
	void databaseKeepsItsGuarantees(TestDatabase database) throws Exception {
		try (TestSchema schema = database.createSchema().withTables()) {
			List<LeaseStore> stores = new ArrayList<>();
			for (int i = 0; i < OWNERS; i++) {
				stores.add(new JdbcLeaseStore(schema.open(), "test"));
			}
			contend(stores, DURATION);
		}
	}

	private static void contend(List<LeaseStore> stores, long duration) throws Exception {
		LeaseHistory history = new LeaseHistory();
		Map<Long, Instant> began = new ConcurrentHashMap<>();
		AtomicLong order = new AtomicLong();
		ExecutorService executor = Executors.newFixedThreadPool(THREADS);
		try {
			long deadline = System.nanoTime() + duration;
			List<Future<?>> threads = new ArrayList<>();
			for (int i = 0; i < THREADS; i++) {
				int number = i;
				LeaseStore store = stores.get(i % OWNERS);
				threads.add(executor.submit(() -> {
					Random random = new Random(number);
					String owner = "node-" + number % OWNERS;
					long held = 0;
					while (System.nanoTime() < deadline) {
						held = step(store, owner, held, random, history, began, order);
					}
				}));
			}
			for (Future<?> thread : threads) {
				thread.get(2, TimeUnit.MINUTES);
			}
		}
		finally {
			executor.shutdownNow();
		}
		assertThat(history.grants()).isGreaterThan(5);
		assertThat(history.check(Map.of(ROLE, began))).isEmpty();
	}

	private static long step(LeaseStore store, String owner, long held, Random random, LeaseHistory history,
			Map<Long, Instant> began, AtomicLong order) {
		if (held > 0 && random.nextInt(4) == 0) {
			if (store.release(ROLE, owner, held)) {
				history.recordRelease(ROLE, held);
			}
			return 0;
		}
		LeaseRequest request = (held > 0) ? LeaseRequest.renew(ROLE, TTL, held) : LeaseRequest.acquire(ROLE, TTL, 0);
		long start = order.incrementAndGet();
		LeaseResult result = store.tryAcquireOrRenew(owner, List.of(request)).get(0);
		history.record(start, order.incrementAndGet(), result);
		if (result.outcome() == Outcome.GRANTED) {
			// When it is granted, nothing of its time is over
			began.put(result.fencingToken(), result.expiresAt().minus(result.remaining()));
		}
		return result.acquired() ? result.fencingToken() : 0;
	}

}
