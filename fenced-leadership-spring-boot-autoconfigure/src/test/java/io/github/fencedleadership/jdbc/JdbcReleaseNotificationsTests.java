package io.github.fencedleadership.jdbc;

import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import io.github.fencedleadership.lease.ReleaseNotifications.Subscription;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link JdbcReleaseNotifications} on PostgreSQL.
 */
class JdbcReleaseNotificationsTests {

	private static final Duration TTL = Duration.ofMinutes(1);

	private final TestSchema schema = TestDatabase.POSTGRESQL.createSchema().withTables();

	private final JdbcDatabase database = this.schema.open();

	private final JdbcLeaseStore leases = new JdbcLeaseStore(this.database, this.schema.name());

	private final Queue<Set<String>> told = new ConcurrentLinkedQueue<>();

	@AfterEach
	void close() {
		this.schema.close();
	}

	@Test
	void aReleaseIsTold() {
		try (Subscription subscription = subscribe(this.database, this.schema.name())) {
			acquireAndRelease("reports");
			eventually().untilAsserted(() -> assertThat(this.told).contains(Set.of("reports")));
		}
	}

	@Test
	void releasesAtOnceAreToldTogether() {
		this.leases.tryAcquireOrRenew("first", "a", TTL);
		this.leases.tryAcquireOrRenew("second", "a", TTL);
		try (Subscription subscription = subscribe(this.database, this.schema.name())) {
			this.leases.release("a", Map.of("first", 1L, "second", 1L));
			eventually().untilAsserted(() -> assertThat(this.told).contains(Set.of("first", "second")));
		}
	}

	@Test
	void nothingIsToldOfAReleaseThatWasNone() {
		try (Subscription subscription = subscribe(this.database, this.schema.name())) {
			this.leases.tryAcquireOrRenew("reports", "a", TTL);
			this.leases.release("reports", "b", 1);
			acquireAndRelease("last");
			eventually().until(() -> this.told.contains(Set.of("last")));
			assertThat(this.told).doesNotContain(Set.of("reports"));
		}
	}

	@Test
	void otherNamespacesAreNotTold() {
		try (Subscription subscription = subscribe(this.database, this.schema.name())) {
			JdbcLeaseStore others = new JdbcLeaseStore(this.database, this.schema.name() + "x");
			others.tryAcquireOrRenew("theirs", "a", TTL);
			others.release("theirs", "a", 1);
			acquireAndRelease("ours");
			eventually().until(() -> this.told.contains(Set.of("ours")));
			assertThat(this.told).doesNotContain(Set.of("theirs"));
		}
	}

	@Test
	void aLostConnectionHeals() {
		try (Subscription subscription = subscribe(this.database, this.schema.name())) {
			this.schema.queryForLong("""
					SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
					WHERE query LIKE 'SELECT pg_notify%' OR query LIKE 'LISTEN fenced%'""");
			this.told.clear();
			eventually().until(() -> {
				acquireAndRelease("reports");
				return this.told.contains(Set.of("reports"));
			});
		}
	}

	@Test
	void nobodyIsToldAfterTheSubscriptionHasEnded() {
		subscribe(this.database, this.schema.name()).close();
		this.told.clear();
		try (Subscription other = new JdbcReleaseNotifications(this.database, this.schema.name()).subscribe((roles) -> {
		})) {
			acquireAndRelease("reports");
			assertThat(this.told).isEmpty();
			// Threads and connections are given back
			eventually().until(() -> Thread.getAllStackTraces()
				.keySet()
				.stream()
				.filter((thread) -> thread.getName().equals("fenced-leadership-notifications"))
				.count() <= 1);
		}
	}

	@Test
	void nothingIsToldWhereItIsSwitchedOff() {
		JdbcDatabase silent = this.schema
			.register(this.schema.builder(this.schema.pool(4)).tellsReleases(false).build());
		assertThat(silent.isTold()).isFalse();
		try (Subscription subscription = subscribe(this.database, this.schema.name())) {
			JdbcLeaseStore store = new JdbcLeaseStore(silent, this.schema.name());
			store.tryAcquireOrRenew("silent", "a", TTL);
			assertThat(store.release("silent", "a", 1)).isTrue();
			acquireAndRelease("loud");
			eventually().until(() -> this.told.contains(Set.of("loud")));
			assertThat(this.told).doesNotContain(Set.of("silent"));
		}
	}

	@Test
	void otherDatabasesPollAndKeepNoThread() {
		try (TestSchema h2 = TestDatabase.H2.createSchema().withTables();
				Subscription subscription = new JdbcReleaseNotifications(h2.open(), "app").subscribe(this.told::add)) {
			eventually().until(() -> Thread.getAllStackTraces()
				.keySet()
				.stream()
				.noneMatch((thread) -> thread.getName().equals("fenced-leadership-notifications")));
		}
	}

	/**
	 * Subscribe, and wait until it is heard.
	 */
	private Subscription subscribe(JdbcDatabase database, String namespace) {
		Subscription subscription = new JdbcReleaseNotifications(database, namespace).subscribe(this.told::add);
		eventually().until(() -> {
			acquireAndRelease("probe");
			return this.told.contains(Set.of("probe"));
		});
		return subscription;
	}

	private void acquireAndRelease(String role) {
		long token = this.leases.tryAcquireOrRenew(role, "a", TTL).fencingToken();
		this.leases.release(role, "a", token);
	}

	private static ConditionFactory eventually() {
		return Awaitility.await().atMost(Duration.ofSeconds(60));
	}

}
