package io.github.fencedleadership.chaos;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import io.github.fencedleadership.chaos.ChaosCluster.Leader;
import io.github.fencedleadership.chaos.ChaosCluster.Node;
import io.github.fencedleadership.chaos.History.Write;
import io.github.fencedleadership.chaos.HistoryEvent.Kind;
import io.github.fencedleadership.jdbc.TestDatabase;
import io.github.fencedleadership.jdbc.TestSchema;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The experiment that shows what fencing is for, after Jepsen's analysis of etcd 3.4.3:
 * several processes, short leases, and again and again a leader that is stopped for
 * longer than its lease, while all of them add elements to one set by reading and writing
 * its register. With the guard, every acknowledged element is there in the end. Without
 * it, some are not: a run that cannot lose proves nothing.
 */
@Timeout(300)
@EnabledOnOs(value = { OS.LINUX, OS.MAC },
		disabledReason = "It needs signals, and a monotonic clock that processes share")
class FencingExperimentIntegrationTests {

	private static final String ROLE = "set";

	private static final List<String> PROCESSES = List.of("node0", "node1", "node2", "node3");

	private static final int PAUSES = Integer.getInteger("fencing.experiment.pauses", 4);

	@ParameterizedTest
	@EnumSource(value = TestDatabase.class, names = { "POSTGRESQL", "MARIADB" })
	void withTheGuardNothingAcknowledgedIsLostAndWithoutItSomethingIs(TestDatabase database) {
		Result guarded = run(database, true);
		Result unguarded = run(database, false);
		System.out.printf("[fencing experiment] %s with the guard: %s%n", database, guarded);
		System.out.printf("[fencing experiment] %s without the guard: %s%n", database, unguarded);
		assertThat(guarded.terms()).as("terms").isGreaterThan(2);
		assertThat(guarded.acknowledged()).as("acknowledged elements").isGreaterThan(10);
		assertThat(guarded.violations()).isEmpty();
		assertThat(unguarded.lost()).as("acknowledged elements that are missing without the guard").isNotEmpty();
		assertThat(unguarded.violations()).allMatch((violation) -> violation.startsWith("G7"));
	}

	private static Result run(TestDatabase database, boolean guarded) {
		try (TestSchema schema = database.createSchema().withTables();
				ChaosCluster cluster = new ChaosCluster(schema, Duration.ofSeconds(1), List.of(ROLE), guarded)) {
			for (String process : PROCESSES) {
				Node node = cluster.start(process);
				cluster.await("start of '%s'".formatted(process), node::hasStarted);
			}
			for (int i = 0; i < PAUSES; i++) {
				pauseTheLeader(cluster);
			}
			cluster.finish();
			HistoryChecker checker = new HistoryChecker(cluster.history());
			return new Result(cluster.count(Kind.ACKNOWLEDGED), checker.lost(),
					cluster.history().writes().stream().mapToLong(Write::token).distinct().count(),
					cluster.count(Kind.REFUSED), cluster.count(Kind.FAILED), checker.check());
		}
	}

	/**
	 * Stop the leader for longer than its lease, while it works on what it has read, and
	 * let its successor and then itself write.
	 */
	private static void pauseTheLeader(ChaosCluster cluster) {
		Leader leader = cluster.awaitLeader(ROLE);
		int reads = cluster.count(Kind.READ, ROLE, leader.node());
		cluster.await("read of the leader", () -> cluster.count(Kind.READ, ROLE, leader.node()) > reads
				|| !cluster.leader(ROLE).equals(Optional.of(leader)));
		leader.node().process().signal("STOP");
		try {
			cluster.awaitLeader(ROLE, leader.term().token());
			awaitWrites(cluster, 3);
		}
		finally {
			leader.node().process().signal("CONT");
		}
		awaitWrites(cluster, 5);
	}

	private static void awaitWrites(ChaosCluster cluster, int count) {
		int before = cluster.count(Kind.ACKNOWLEDGED);
		cluster.await("writes", () -> cluster.count(Kind.ACKNOWLEDGED) > before + count);
	}

	private record Result(int acknowledged, List<String> lost, long terms, int refused, int failed,
			List<String> violations) {

		@Override
		public String toString() {
			return "%d of %d acknowledged elements lost, in %d terms with %d pauses; %d writes refused, %d failed"
				.formatted(this.lost.size(), this.acknowledged, this.terms, PAUSES, this.refused, this.failed);
		}

	}

}
