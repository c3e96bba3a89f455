package io.github.fencedleadership.jdbc;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

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

	private Process leader;

	@AfterEach
	void close() throws Exception {
		if (this.leader != null) {
			this.leader.destroyForcibly();
			this.leader.waitFor(30, TimeUnit.SECONDS);
		}
		if (this.schema != null) {
			this.schema.close();
		}
	}

	@ParameterizedTest
	@EnumSource(value = TestDatabase.class, names = { "POSTGRESQL", "MARIADB", "MYSQL" })
	void aFrozenLeaderKeepsItsSuccessorWaitingForTheIdleBoundAndNeverCommits(TestDatabase database) throws Exception {
		Assumptions.assumeFalse(System.getProperty("os.name").startsWith("Windows"), "needs signals");
		this.schema = database.createSchema().withTables();
		HikariDataSource dataSource = this.schema.pool(4);
		JdbcTemplate jdbc = new JdbcTemplate(dataSource);
		jdbc.execute("CREATE TABLE written (id INT PRIMARY KEY, fencing_token BIGINT NOT NULL)");
		JdbcLeaseStore leases = new JdbcLeaseStore(this.schema.open(), "app");
		long older = leases.tryAcquireOrRenew("reports", "zombie", Duration.ofSeconds(1)).fencingToken();
		Queue<String> output = start(older);
		awaitLine(output, "INSIDE");
		signal("STOP");
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
		signal("CONT");
		this.leader.getOutputStream().write('\n');
		this.leader.getOutputStream().flush();
		assertThat(this.leader.waitFor(60, TimeUnit.SECONDS)).isTrue();
		awaitLine(output, "FAILED");
		assertThat(output).doesNotContain("COMMITTED");
		assertThat(jdbc.queryForList("SELECT id FROM written", Integer.class)).containsExactly(2);
	}

	private Queue<String> start(long token) throws IOException {
		String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
		this.leader = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx128m",
				"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classPath, FencedZombie.class.getName(),
				this.schema.url(), this.schema.username(), this.schema.password(), Long.toString(token),
				Long.toString(IDLE.toMillis()))
			.redirectErrorStream(true)
			.start();
		Queue<String> output = new ConcurrentLinkedQueue<>();
		BufferedReader lines = this.leader.inputReader(StandardCharsets.UTF_8);
		Thread reader = new Thread(() -> lines.lines().forEach(output::add), "frozen-leader-output");
		reader.setDaemon(true);
		reader.start();
		return output;
	}

	private void awaitLine(Queue<String> output, String beginning) {
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.untilAsserted(() -> assertThat(output).anyMatch((line) -> line.startsWith(beginning)));
	}

	private void signal(String name) throws Exception {
		Process kill = new ProcessBuilder(List.of("kill", "-" + name, Long.toString(this.leader.pid()))).start();
		assertThat(kill.waitFor()).isZero();
	}

}
