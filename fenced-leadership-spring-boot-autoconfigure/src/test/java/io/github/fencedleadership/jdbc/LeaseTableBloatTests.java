package io.github.fencedleadership.jdbc;

import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Renewals are updates of the same few rows, over and over. On PostgreSQL each of them is
 * a new version of the row, which has to find room in its own page and touch no index.
 */
class LeaseTableBloatTests {

	private static final int RENEWALS = Integer.getInteger("bloat.renewals", 10_000);

	private static final int ROLES = 20;

	@Test
	void renewalsReuseTheirOwnPages() {
		try (TestSchema schema = TestDatabase.POSTGRESQL.createSchema().withTables()) {
			JdbcLeaseStore leases = new JdbcLeaseStore(schema.open(), "bloat");
			List<String> roles = IntStream.range(0, ROLES).mapToObj((i) -> "role-" + i).toList();
			List<LeaseRequest> acquire = roles.stream()
				.map((role) -> LeaseRequest.acquire(role, Duration.ofMinutes(1), 0))
				.toList();
			assertThat(leases.tryAcquireOrRenew("node", acquire)).allMatch(LeaseResult::acquired);
			long atFirst = size(schema);
			List<LeaseRequest> renew = roles.stream()
				.map((role) -> LeaseRequest.renew(role, Duration.ofMinutes(1), 1))
				.toList();
			for (int i = 0; i < RENEWALS / ROLES; i++) {
				assertThat(leases.tryAcquireOrRenew("node", renew))
					.allMatch((result) -> result.outcome() == Outcome.RENEWED);
			}
			Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> statistic(schema, "n_tup_upd") >= RENEWALS);
			long updates = statistic(schema, "n_tup_upd");
			long inPlace = statistic(schema, "n_tup_hot_upd");
			long inTheEnd = size(schema);
			System.out.printf(
					"[bloat] %,d renewals of %d leases: %,d of %,d updates in place, %,d bytes at first, %,d in the end%n",
					RENEWALS, ROLES, inPlace, updates, atFirst, inTheEnd);
			assertThat(inPlace).isGreaterThan(updates * 95 / 100);
			assertThat(inTheEnd).isLessThan(atFirst + 200_000);
		}
	}

	private static long size(TestSchema schema) {
		return schema.queryForLong("SELECT pg_total_relation_size('fenced_lease')");
	}

	private static long statistic(TestSchema schema, String column) {
		return schema
			.queryForLong("SELECT %s FROM pg_stat_user_tables WHERE schemaname = '%s' AND relname = 'fenced_lease'"
				.formatted(column, schema.name()));
	}

}
