package io.github.fencedleadership.jdbc;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Collectors;

import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.jdbc.core.simple.JdbcClient;

import io.github.fencedleadership.lease.Lease;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The experiment that shows what fencing is for, after Jepsen's analysis of etcd 3.4.3:
 * several processes, short leases, and again and again a leader that is stopped for
 * longer than its lease, while all of them add elements to one set by reading and writing
 * it. With the guard, every acknowledged element is there in the end. Without it, some
 * are not: a run that cannot lose proves nothing.
 */
@Timeout(300)
class FencingExperimentIntegrationTests {

	private static final int PROCESSES = 4;

	private static final int PAUSES = Integer.getInteger("fencing.experiment.pauses", 5);

	@ParameterizedTest
	@EnumSource(value = TestDatabase.class, names = { "POSTGRESQL", "MARIADB" })
	void withTheGuardNothingAcknowledgedIsLostAndWithoutItSomethingIs(TestDatabase database) throws Exception {
		Result guarded = new Experiment(database, true).run();
		Result unguarded = new Experiment(database, false).run();
		System.out.printf("[fencing experiment] %s with the guard: %s%n", database, guarded);
		System.out.printf("[fencing experiment] %s without the guard: %s%n", database, unguarded);
		assertThat(guarded.terms()).as("terms").isGreaterThan(2);
		assertThat(guarded.acknowledged()).as("acknowledged elements").isGreaterThan(10);
		assertThat(guarded.lost()).as("acknowledged elements that are missing").isEmpty();
		assertThat(guarded.tokens()).as("tokens in the order of the commits").isSorted();
		assertThat(unguarded.lost()).as("acknowledged elements that are missing without the guard").isNotEmpty();
	}

	private record Result(int acknowledged, List<String> lost, List<Long> tokens, long refused, long failed) {

		long terms() {
			return this.tokens.stream().distinct().count();
		}

		@Override
		public String toString() {
			return "%d of %d acknowledged elements lost, in %d terms with %d pauses; %d writes refused, %d failed"
				.formatted(this.lost.size(), this.acknowledged, terms(), PAUSES, this.refused, this.failed);
		}

	}

	private static final class Experiment {

		private final TestSchema schema;

		private final boolean guarded;

		private final Queue<String> output = new ConcurrentLinkedQueue<>();

		private final List<Process> processes = new ArrayList<>();

		Experiment(TestDatabase database, boolean guarded) {
			this.schema = database.createSchema().withTables();
			this.guarded = guarded;
		}

		Result run() throws Exception {
			try (TestSchema open = this.schema) {
				JdbcClient jdbc = JdbcClient.create(open.pool(2));
				jdbc.sql("CREATE TABLE experiment_set (elements TEXT NOT NULL, version BIGINT NOT NULL)").update();
				jdbc.sql("INSERT INTO experiment_set VALUES ('', 0)").update();
				jdbc.sql("CREATE TABLE experiment_write (version BIGINT PRIMARY KEY, fencing_token BIGINT NOT NULL)")
					.update();
				JdbcLeaseStore leases = new JdbcLeaseStore(open.open(), "experiment");
				try {
					for (int i = 0; i < PROCESSES; i++) {
						start("node" + i);
					}
					eventually(() -> count("READY ") == PROCESSES);
					for (int i = 0; i < PAUSES; i++) {
						pauseTheLeader(leases);
					}
				}
				finally {
					stopAll();
				}
				return evaluate(jdbc);
			}
		}

		private void start(String name) throws IOException {
			String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
			Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
					"-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classPath,
					FencedSetNode.class.getName(), name, this.schema.url(), this.schema.username(),
					this.schema.password(), Boolean.toString(this.guarded))
				.redirectErrorStream(true)
				.start();
			this.processes.add(process);
			Thread reader = new Thread(() -> {
				try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
					lines.lines().forEach(this.output::add);
				}
				catch (IOException | RuntimeException ex) {
					// The process was killed.
				}
			}, "output-of-" + name);
			reader.setDaemon(true);
			reader.start();
		}

		/**
		 * Stop the leader for longer than its lease, and let its successor and then
		 * itself write.
		 */
		private void pauseTheLeader(JdbcLeaseStore leases) throws Exception {
			eventually(() -> leases.find(FencedSetNode.ROLE).map(Lease::isLive).orElse(false));
			Lease before = leases.find(FencedSetNode.ROLE).orElseThrow();
			String name = before.ownerId().substring(0, before.ownerId().indexOf('#'));
			long acknowledged = count("ACK " + name + "-");
			eventually(() -> count("ACK " + name + "-") > acknowledged || !isHeldBy(leases, before));
			Process leader = this.processes.get(Integer.parseInt(name.substring("node".length())));
			signal("STOP", leader);
			try {
				eventually(() -> leases.find(FencedSetNode.ROLE)
					.map((lease) -> lease.isLive() && lease.fencingToken() > before.fencingToken())
					.orElse(false));
				Predicate<String> ofOthers = (line) -> line.startsWith("ACK ") && !line.startsWith("ACK " + name + "-");
				long ofOthersBefore = this.output.stream().filter(ofOthers).count();
				eventually(() -> this.output.stream().filter(ofOthers).count() > ofOthersBefore + 3);
			}
			finally {
				signal("CONT", leader);
			}
			long all = count("ACK ");
			eventually(() -> count("ACK ") > all + 5);
		}

		private static boolean isHeldBy(JdbcLeaseStore leases, Lease term) {
			return leases.find(FencedSetNode.ROLE)
				.map((lease) -> lease.isLive() && lease.fencingToken() == term.fencingToken())
				.orElse(false);
		}

		private static void signal(String signal, Process process) throws Exception {
			new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid())).inheritIO().start().waitFor();
		}

		private void stopAll() throws InterruptedException {
			this.processes.forEach(Process::destroyForcibly);
			for (Process process : this.processes) {
				process.waitFor(60, TimeUnit.SECONDS);
			}
		}

		private Result evaluate(JdbcClient jdbc) {
			Set<String> present = new HashSet<>(Arrays
				.asList(jdbc.sql("SELECT elements FROM experiment_set").query(String.class).single().split(",")));
			List<String> acknowledged = this.output.stream()
				.filter((line) -> line.startsWith("ACK "))
				.map((line) -> line.substring("ACK ".length()))
				.toList();
			List<Long> tokens = jdbc.sql("SELECT fencing_token FROM experiment_write ORDER BY version")
				.query(Long.class)
				.list();
			return new Result(acknowledged.size(),
					acknowledged.stream().filter((element) -> !present.contains(element)).toList(), tokens,
					count("REFUSED "), count("FAILED "));
		}

		private long count(String prefix) {
			return this.output.stream().filter((line) -> line.startsWith(prefix)).count();
		}

		private void eventually(Callable<Boolean> condition) {
			try {
				Awaitility.await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(20)).until(condition);
			}
			catch (ConditionTimeoutException ex) {
				throw new AssertionError("Last output of the nodes:%n%s".formatted(this.output.stream()
					.skip(Math.max(0, this.output.size() - 50))
					.collect(Collectors.joining("\n"))), ex);
			}
		}

	}

}
