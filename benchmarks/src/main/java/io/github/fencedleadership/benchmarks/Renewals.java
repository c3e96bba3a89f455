package io.github.fencedleadership.benchmarks;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

import com.zaxxer.hikari.HikariDataSource;

import io.github.fencedleadership.jdbc.JdbcDatabase;
import io.github.fencedleadership.jdbc.JdbcLeaseStore;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;

/**
 * A round of renewals: all leases in one call, and one statement that commits by itself
 * for each of them.
 */
final class Renewals {

	private static final Duration TTL = Duration.ofMinutes(10);

	private Renewals() {
	}

	static void measure(Scale scale, Database.Server server, Table table) throws Exception {
		int roles = scale.manyRoles();
		HikariDataSource pool = server.pool(4);
		Samples together = new Samples();
		Samples single = new Samples();
		try (JdbcDatabase database = JdbcDatabase.builder(pool)
			.connectionTimeout(Duration.ofMinutes(1))
			.queryTimeout(Duration.ofMinutes(1))
			.build(); Connection connection = pool.getConnection()) {
			JdbcLeaseStore store = new JdbcLeaseStore(database, "renewals");
			List<LeaseRequest> renewals = store
				.tryAcquireOrRenew("owner",
						OurNode.roles(roles).stream().map((role) -> LeaseRequest.acquire(role, TTL, 0)).toList())
				.stream()
				.map((result) -> LeaseRequest.renew(result.role(), TTL, result.fencingToken()))
				.toList();
			prepareSingle(connection, roles);
			for (int round = -1; round < scale.rounds(); round++) {
				double inOneCall = renewTogether(store, renewals);
				double oneByOne = renewSingly(connection, roles);
				if (round >= 0) {
					together.add(inOneCall);
					single.add(oneByOne);
				}
			}
		}
		table.row(server.database(), String.format("%,d", roles), together, together.spread(), single, single.spread(),
				Samples.times(single.median() / together.median()), roles / together.median() * 1000);
	}

	private static double renewTogether(JdbcLeaseStore store, List<LeaseRequest> renewals) {
		long start = System.nanoTime();
		List<LeaseResult> results = store.tryAcquireOrRenew("owner", renewals);
		double millis = Waiting.millisSince(start);
		if (!results.stream().allMatch(LeaseResult::acquired)) {
			throw new IllegalStateException("Not all leases were renewed");
		}
		return millis;
	}

	private static void prepareSingle(Connection connection, int roles) throws Exception {
		try (PreparedStatement insert = connection.prepareStatement(
				"INSERT INTO single_lease (role, owner_id, fencing_token, expires_at) VALUES (?, ?, 1, ?)")) {
			for (String role : OurNode.roles(roles)) {
				insert.setString(1, role);
				insert.setString(2, "owner");
				insert.setTimestamp(3, Timestamp.from(Instant.now()));
				insert.addBatch();
			}
			insert.executeBatch();
		}
	}

	private static double renewSingly(Connection connection, int roles) throws Exception {
		long start = System.nanoTime();
		try (PreparedStatement update = connection.prepareStatement(
				"UPDATE single_lease SET expires_at = CURRENT_TIMESTAMP + INTERVAL '30' SECOND WHERE role = ? AND owner_id = ? AND fencing_token = 1")) {
			for (String role : OurNode.roles(roles)) {
				update.setString(1, role);
				update.setString(2, "owner");
				if (update.executeUpdate() != 1) {
					throw new IllegalStateException("Lease of '%s' was not renewed".formatted(role));
				}
			}
		}
		return Waiting.millisSince(start);
	}

}
