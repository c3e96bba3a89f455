package io.github.fencedleadership.chaos;

import java.util.List;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

import org.springframework.dao.CannotAcquireLockException;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Nodes that are processes, databases that are servers, and everything that goes wrong
 * with either: what the guarantees promise holds throughout.
 * <p>
 * A long run, with a random schedule: {@code -Dchaos.faults=500}, and if need be
 * {@code -Dchaos.seed=…}, {@code -Dchaos.ttl=…} (milliseconds) and
 * {@code -Dchaos.kinds=LEADER_FROZEN,DATABASE_CRASHED}.
 */
@Timeout(value = 6, unit = TimeUnit.HOURS)
@EnabledOnOs(value = { OS.LINUX, OS.MAC },
		disabledReason = "It needs signals, and a monotonic clock that processes share")
class ChaosIntegrationTests {

	private static final int FAULTS = Integer.getInteger("chaos.faults", 0);

	/** All kinds, if none is named. */
	private static final String KINDS = System.getProperty("chaos.kinds", "");

	private static final long SEED = Long.getLong("chaos.seed", System.nanoTime());

	@Test
	void guaranteesHoldOnPostgreSql() throws Exception {
		try (ChaosRun run = ChaosRun.start(PostgresServer.start(ChaosCluster.freePort()), SEED)) {
			if (FAULTS > 0) {
				run.injectAtRandom(FAULTS, ChaosIntegrationTests::isWanted);
			}
			else {
				run.inject(Fault.LEADER_FROZEN);
				run.inject(Fault.LEADER_KILLED);
				run.inject(Fault.LEADER_TERMINATED);
				run.inject(Fault.CONNECTIONS_HALF_OPEN);
				run.inject(Fault.DATABASE_RESTARTED, Fault.CLOCK_BEHIND, Fault.NETWORK_SLOW);
				run.inject(Fault.DATABASE_CRASHED, Fault.LISTENERS_THROW);
				run.inject(Fault.DATABASE_READ_ONLY, Fault.OWNER_NAME_TWICE);
				run.inject(Fault.LEASE_LOCKED, Fault.POOL_EXHAUSTED, Fault.CLOCK_AHEAD);
				run.inject(Fault.SERIALIZATION_FAILURES, Fault.REPLY_LOST);
				run.inject(Fault.CONNECTIONS_CUT);
				run.inject(Fault.COMMIT_REPLY_LOST);
				run.inject(Fault.LISTENERS_BLOCK);
				run.inject(Fault.INTERRUPTS_IGNORED);
				run.inject(Fault.REPLICA_PROMOTED);
				run.inject(Fault.TTL_CHANGED);
				assertThat(run.injected()).as("kinds of faults").containsOnlyKeys(Fault.values());
				assertThat(run.failures()).as("serialization failures")
					.containsKey(CannotAcquireLockException.class.getSimpleName());
			}
			check("PostgreSQL", run);
		}
	}

	@Test
	@EnabledOnOs(value = OS.LINUX, architectures = "amd64", disabledReason = "MariaDB has binaries for Linux only")
	void guaranteesHoldOnMariaDb() throws Exception {
		try (ChaosRun run = ChaosRun.start(MariaDbServer.start(ChaosCluster.freePort()), SEED)) {
			if (FAULTS > 0) {
				run.injectAtRandom(FAULTS, (fault) -> isWanted(fault) && fault != Fault.REPLICA_PROMOTED);
			}
			else {
				run.inject(Fault.LEADER_FROZEN);
				run.inject(Fault.DATABASE_CRASHED, Fault.COMMIT_REPLY_LOST);
			}
			check("MariaDB", run);
		}
	}

	private static boolean isWanted(Fault fault) {
		return KINDS.isEmpty() || List.of(KINDS.split(",")).contains(fault.name());
	}

	private static void check(String database, ChaosRun run) {
		List<String> violations = run.finish();
		System.out.printf("[chaos] %s, seed %d: %s%n", database, SEED, run);
		assertThat(violations).as("seed " + SEED).isEmpty();
	}

}
