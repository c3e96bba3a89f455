package io.github.fencedleadership.benchmarks;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.locks.Lock;

import com.zaxxer.hikari.HikariDataSource;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;

import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;

import io.github.fencedleadership.jdbc.JdbcDatabase;
import io.github.fencedleadership.jdbc.JdbcLeaseStore;
import io.github.fencedleadership.lease.LeaseResult;

/**
 * Lock and unlock, one pair after the other.
 */
final class LockPairs {

	private LockPairs() {
	}

	static void measure(Scale scale, Database.Server server, Table table) throws Exception {
		HikariDataSource pool = server.pool(4);
		ScheduledExecutorService executor = Executors.newScheduledThreadPool(1);
		DefaultLockRepository repository = Peers.springIntegrationRepository(pool);
		try (JdbcDatabase database = JdbcDatabase.builder(pool)
			.connectionTimeout(Duration.ofSeconds(30))
			.queryTimeout(Duration.ofSeconds(30))
			.build()) {
			JdbcLeaseStore store = new JdbcLeaseStore(database, "pairs");
			JdbcLockRegistry registry = new JdbcLockRegistry(repository, Duration.ofSeconds(30));
			Map<String, Runnable> pairs = new LinkedHashMap<>();
			pairs.put("ours", () -> {
				LeaseResult lease = store.tryAcquireOrRenew("pair", "owner", Duration.ofSeconds(30));
				if (!lease.acquired() || !store.release("pair", "owner", lease.fencingToken())) {
					throw new IllegalStateException("Not locked: " + lease);
				}
			});
			pairs.put("Spring Integration 7.1", () -> {
				Lock lock = registry.obtain("pair");
				lock.lock();
				try {
					// Nothing is what is measured.
				}
				finally {
					lock.unlock();
				}
			});
			pairs.put("ShedLock 7.9", pair(Peers.shedLock(pool)));
			pairs.put("ShedLock 7.9, keep-alive", pair(new KeepAliveLockProvider(Peers.shedLock(pool), executor)));
			Map<String, Samples> rates = new LinkedHashMap<>();
			for (int round = -1; round < scale.rounds(); round++) {
				for (Map.Entry<String, Runnable> pair : pairs.entrySet()) {
					double rate = rate(scale.slice().dividedBy(2), pair.getValue());
					if (round >= 0) {
						rates.computeIfAbsent(pair.getKey(), (name) -> new Samples()).add(rate);
					}
				}
			}
			double ours = rates.values().iterator().next().median();
			rates.forEach((name, rate) -> table.row(server.database(), name, rate, rate.spread(),
					Samples.times(rate.median() / ours)));
		}
		finally {
			executor.shutdownNow();
			repository.close();
		}
	}

	private static Runnable pair(LockProvider provider) {
		return () -> {
			SimpleLock lock = provider
				.lock(new LockConfiguration(Instant.now(), "pair", Duration.ofSeconds(30), Duration.ZERO))
				.orElseThrow();
			lock.unlock();
		};
	}

	private static double rate(Duration duration, Runnable pair) {
		long start = System.nanoTime();
		long count = 0;
		while (System.nanoTime() - start < duration.toNanos()) {
			pair.run();
			count++;
		}
		return count * 1e9 / (System.nanoTime() - start);
	}

}
