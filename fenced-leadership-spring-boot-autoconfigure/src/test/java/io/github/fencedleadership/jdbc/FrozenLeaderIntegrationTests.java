package io.github.fencedleadership.jdbc;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import com.zaxxer.hikari.HikariDataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.chaos.ChildJvm;
import io.github.fencedleadership.fencing.FencingToken;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A leader that is frozen in the middle of a fenced transaction does not keep its
 * successor waiting for longer than the idle bound, and what it had not committed never
 * is. The leader is a process that is really stopped.
 */
@Timeout(180)
class FrozenLeaderIntegrationTests {

	private static final Duration IDLE = Duration.ofSeconds(2);

	/** Beyond the idle bound, for a slow machine. */
	private static final Duration SLACK = Duration.ofSeconds(20);

	private TestSchema schema;

	private ChildJvm leader;

	@AfterEach
	void close() {
		if (this.leader != null) {
			this.leader.close();
		}
		if (this.schema != null) {
			this.schema.close();
		}
	}

	@ParameterizedTest
	@EnumSource(value = TestDatabase.class, names = { "POSTGRESQL", "MARIADB", "MYSQL" })
	void aFrozenLeaderKeepsItsSuccessorWaitingForTheIdleBoundAndNeverCommits(TestDatabase database) {
		Assumptions.assumeFalse(System.getProperty("os.name").startsWith("Windows"), "needs signals");
		this.schema = database.createSchema().withTables();
		HikariDataSource dataSource = this.schema.pool(4);
		JdbcTemplate jdbc = new JdbcTemplate(dataSource);
		jdbc.execute("CREATE TABLE written (id INT PRIMARY KEY, fencing_token BIGINT NOT NULL)");
		JdbcLeaseStore leases = new JdbcLeaseStore(this.schema.open(), "app");
		long older = leases.tryAcquireOrRenew("reports", "zombie", Duration.ofSeconds(1)).fencingToken();
		Queue<String> output = start(older);
		awaitLine(output, "INSIDE");
		this.leader.signal("STOP");
		Awaitility.await().atMost(Duration.ofSeconds(60)).until(() -> !leases.find("reports").orElseThrow().isLive());
		long newer = leases.tryAcquireOrRenew("reports", "successor", Duration.ofMinutes(5)).fencingToken();
		assertThat(newer).isGreaterThan(older);
		JdbcFencingGuard guard = new JdbcFencingGuard(this.schema.open(), dataSource, "app", IDLE);
		FencingToken token = new FencingToken("reports", newer);
		long start = System.nanoTime();
		new TransactionTemplate(new JdbcTransactionManager(dataSource)).executeWithoutResult((status) -> {
			guard.check("ledger", token);
			jdbc.update("INSERT INTO written VALUES (2, ?)", token.value());
		});
		Duration waited = Duration.ofNanos(System.nanoTime() - start);
		assertThat(waited).isLessThan(IDLE.plus(SLACK));
		System.out.printf(
				"[frozen leader] %s: the first write of the successor waited %d ms with an idle bound of %s%n",
				database, waited.toMillis(), IDLE);
		this.leader.signal("CONT");
		this.leader.send("");
		assertThat(this.leader.awaitExit()).isTrue();
		awaitLine(output, "FAILED");
		assertThat(output).doesNotContain("COMMITTED");
		assertThat(jdbc.queryForList("SELECT id FROM written", Integer.class)).containsExactly(2);
	}

	private Queue<String> start(long token) {
		Queue<String> output = new ConcurrentLinkedQueue<>();
		this.leader = ChildJvm.start(FencedZombie.class, output::add, this.schema.url(), this.schema.username(),
				this.schema.password(), Long.toString(token), Long.toString(IDLE.toMillis()));
		return output;
	}

	private void awaitLine(Queue<String> output, String beginning) {
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.untilAsserted(() -> assertThat(output).anyMatch((line) -> line.startsWith(beginning)));
	}

}
