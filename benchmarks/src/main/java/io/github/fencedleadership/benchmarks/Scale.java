package io.github.fencedleadership.benchmarks;

import java.time.Duration;
import java.util.List;

import io.github.fencedleadership.election.RoleSettings;

/**
 * How much is measured.
 *
 * @param databases the databases
 * @param roles the numbers of roles, rising
 * @param nodes the numbers of nodes, rising
 * @param settings the times of the roles whose statements are counted
 * @param window for how long statements are counted
 * @param rounds how often what is compared is measured, in turns
 * @param slice for how long each turn of a throughput lasts
 * @param handOvers how many hand-overs are measured
 * @param takeoverPairs how many pairs of nodes have a leader die at the same time
 * @param takeoverRounds how often
 * @param starts how often an application is started with and without the starter
 * @param forks how many JVMs measure nanoseconds, 0 for this one
 */
record Scale(List<Database> databases, List<Integer> roles, List<Integer> nodes, RoleSettings settings, Duration window,
		int rounds, Duration slice, int handOvers, int takeoverPairs, int takeoverRounds, int starts, int forks) {

	static Scale full() {
		return new Scale(List.of(Database.POSTGRESQL, Database.MARIADB, Database.H2), List.of(1, 10, 100, 1000, 10_000),
				List.of(1, 2, 5, 10, 20), RoleSettings.of(RoleSettings.DEFAULT_LEASE_TTL), Duration.ofSeconds(30), 7,
				Duration.ofSeconds(2), 200, 10, 10, 7, 2);
	}

	/**
	 * Enough to see that it still works; the figures mean nothing.
	 * @return the scale
	 */
	static Scale smoke() {
		return new Scale(List.of(Database.POSTGRESQL, Database.H2), List.of(1, 50), List.of(1, 3),
				RoleSettings.of(Duration.ofMillis(1500)), Duration.ofMillis(1000), 1, Duration.ofMillis(80), 5, 2, 1, 1,
				0);
	}

	int manyRoles() {
		return this.roles.get(this.roles.size() - 1);
	}

	boolean isSmoke() {
		return this.forks == 0;
	}

}
