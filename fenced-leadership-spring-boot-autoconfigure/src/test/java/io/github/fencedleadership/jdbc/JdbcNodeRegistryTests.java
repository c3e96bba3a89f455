package io.github.fencedleadership.jdbc;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import io.github.fencedleadership.membership.Node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link JdbcNodeRegistry} beyond the contract.
 */
class JdbcNodeRegistryTests {

	private static final Duration TTL = Duration.ofSeconds(30);

	@ParameterizedTest
	@EnumSource
	void silentNodesAreDeletedWithTheFirstHeartbeatAndOnceAnHour(TestDatabase database) {
		try (TestSchema schema = database.createSchema().withTables()) {
			JdbcDatabase jdbcDatabase = schema.openWithTestClock();
			AtomicLong nanoTime = new AtomicLong(Long.MAX_VALUE - 5);
			JdbcNodeRegistry first = registry(jdbcDatabase, new AtomicLong());
			first.heartbeat(node("silent-1"));
			schema.advance(TTL.multipliedBy(2).plusSeconds(1));
			JdbcNodeRegistry registry = registry(jdbcDatabase, nanoTime);
			registry.heartbeat(node("live"));
			assertThat(rows(schema)).as("first heartbeat").isEqualTo(1);
			first.heartbeat(node("silent-2"));
			schema.advance(TTL.multipliedBy(2).plusSeconds(1));
			nanoTime.addAndGet(TimeUnit.MINUTES.toNanos(59));
			registry.heartbeat(node("live"));
			assertThat(rows(schema)).as("within the hour").isEqualTo(2);
			nanoTime.addAndGet(TimeUnit.MINUTES.toNanos(1));
			registry.heartbeat(node("live"));
			assertThat(rows(schema)).as("after an hour").isEqualTo(1);
		}
	}

	@Test
	void heartbeatIsOneStatement() {
		try (TestSchema schema = TestDatabase.H2.createSchema().withTables()) {
			RecordingDataSource dataSource = new RecordingDataSource(schema.pool(2));
			JdbcNodeRegistry registry = registry(schema.open(dataSource), new AtomicLong());
			registry.heartbeat(node("a"));
			dataSource.statements().clear();
			registry.heartbeat(node("a"));
			assertThat(dataSource.statements()).hasSize(1);
		}
	}

	@Test
	void retentionMustNotBeShorterThanLivenessTtl() {
		try (TestSchema schema = TestDatabase.H2.createSchema()) {
			JdbcDatabase jdbcDatabase = schema.open();
			assertThatIllegalArgumentException()
				.isThrownBy(() -> new JdbcNodeRegistry(jdbcDatabase, "test", TTL, TTL.minusMillis(1)))
				.withMessageContaining("'PT29.999S'");
		}
	}

	private static JdbcNodeRegistry registry(JdbcDatabase database, AtomicLong nanoTime) {
		return new JdbcNodeRegistry(database, "test", TTL, TTL.multipliedBy(2), nanoTime::get);
	}

	private static long rows(TestSchema schema) {
		return schema.queryForLong("SELECT count(*) FROM fenced_node");
	}

	private static Node node(String id) {
		return new Node(id, "host", 1, null, Instant.EPOCH, Instant.EPOCH);
	}

}
