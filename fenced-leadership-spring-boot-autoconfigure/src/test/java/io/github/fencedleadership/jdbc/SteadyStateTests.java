package io.github.fencedleadership.jdbc;

import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;

import javax.sql.DataSource;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.zaxxer.hikari.HikariDataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

import org.springframework.jdbc.datasource.DelegatingDataSource;

import io.github.fencedleadership.election.DefaultLeaderElector;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.RoleSettings;
import io.github.fencedleadership.election.RoleStatus.State;
import io.github.fencedleadership.lease.Lease;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A cluster that is left alone: it says nothing and grows nowhere. For as long as
 * {@code -Dsteady.seconds} says.
 */
class SteadyStateTests {

	private static final Duration TIME = Duration.ofSeconds(Integer.getInteger("steady.seconds", 8));

	private static final String ROLE = "reports";

	/**
	 * Often renewed, and with so much time for each call that none is late on a busy
	 * machine.
	 */
	private static final RoleSettings SETTINGS = RoleSettings.of(Duration.ofSeconds(6), Duration.ofSeconds(1),
			Duration.ofMillis(200), Duration.ofMillis(600), null);

	private final TestSchema schema = TestDatabase.POSTGRESQL.createSchema().withTables();

	private final List<DefaultLeaderElector> electors = new ArrayList<>();

	private final ListAppender<ILoggingEvent> log = new ListAppender<>();

	private final Logger logger = (Logger) LoggerFactory.getLogger("io.github.fencedleadership");

	@BeforeEach
	void listen() {
		this.log.start();
		this.logger.addAppender(this.log);
	}

	@AfterEach
	void close() {
		this.electors.forEach(DefaultLeaderElector::close);
		this.logger.detachAppender(this.log);
		this.schema.close();
	}

	@Test
	void aHealthyClusterSaysNothingAndGrowsNowhere() {
		for (String name : List.of("a", "b", "c")) {
			elector(name, this.schema.pool(4));
		}
		eventually(() -> this.electors.stream().anyMatch(SteadyStateTests::leads));
		long token = lease().fencingToken();
		// What is loaded and pooled lazily, is now.
		leaveAlone(TIME.dividedBy(4));
		this.log.list.clear();
		Usage before = usage();
		leaveAlone(TIME);
		Usage after = usage();
		System.out.printf("[steady] three nodes for %s: at first %s, in the end %s%n", TIME, before, after);
		assertThat(this.log.list).isEmpty();
		assertThat(lease().fencingToken()).isEqualTo(token);
		assertThat(after.threads()).isLessThanOrEqualTo(before.threads() + 2);
		assertThat(after.connections()).isLessThanOrEqualTo(before.connections() + 1);
		assertThat(after.heapKilobytes()).isLessThan(before.heapKilobytes() + 4 * 1024);
	}

	@Test
	void aChangeOfLeaderIsOneLinePerNodeConcerned() {
		DefaultLeaderElector a = elector("a", this.schema.pool(4));
		eventually(() -> leads(a));
		DefaultLeaderElector b = elector("b", this.schema.pool(4));
		this.log.list.clear();
		a.stepDown(ROLE);
		eventually(() -> leads(b));
		eventually(() -> a.status(ROLE).filter((status) -> status.state() == State.STANDBY).isPresent());
		assertThat(this.log.list).extracting(ILoggingEvent::getLevel).containsExactly(Level.INFO, Level.INFO);
		assertThat(this.log.list).extracting(ILoggingEvent::getFormattedMessage)
			.containsExactly("No longer leading role 'reports' with fencing token '1': STEPPED_DOWN",
					"Leading role 'reports' with fencing token '2' as '%s'".formatted(b.ownerId()));
	}

	@Test
	void aRealLossIsOneWarning() {
		FailingDataSource failing = new FailingDataSource(this.schema.pool(4));
		DefaultLeaderElector a = elector("a", failing);
		eventually(() -> leads(a));
		DefaultLeaderElector b = elector("b", this.schema.pool(4));
		this.log.list.clear();
		failing.fails.set(true);
		eventually(() -> leads(b));
		// For several more attempts of the one that lost
		leaveAlone(Duration.ofSeconds(2));
		assertThat(this.log.list).filteredOn((event) -> event.getFormattedMessage().startsWith("No longer leading"))
			.singleElement()
			.satisfies((event) -> assertThat(event.getLevel()).isEqualTo(Level.WARN));
		assertThat(this.log.list).filteredOn((event) -> event.getLevel().isGreaterOrEqual(Level.WARN))
			.extracting((event) -> event.getFormattedMessage().split("[.:]", 2)[0])
			.as("the loss, and why")
			.containsExactlyInAnyOrder("No longer leading role 'reports' with fencing token '1'",
					"The lease store does not answer", "The node registry does not answer");
		failing.fails.set(false);
	}

	private DefaultLeaderElector elector(String name, DataSource dataSource) {
		JdbcDatabase database = this.schema.register(JdbcDatabase.builder(dataSource)
			.ownPool(dataSource instanceof HikariDataSource)
			.connectionTimeout(Duration.ofMillis(1500))
			.queryTimeout(Duration.ofMillis(1500))
			.build());
		DefaultLeaderElector elector = DefaultLeaderElector.builder(new JdbcLeaseStore(database, "steady"))
			.nodeRegistry(new JdbcNodeRegistry(database, "steady", Duration.ofSeconds(30), Duration.ofDays(1)))
			.ownerName(name)
			.settings(SETTINGS)
			.build();
		this.electors.add(elector);
		elector.register(LeaderTask.of(ROLE, (leadership) -> {
			while (leadership.await(Duration.ofMillis(50))) {
				leadership.requireHeld();
			}
		}));
		elector.start();
		elector.contend();
		return elector;
	}

	private static boolean leads(DefaultLeaderElector elector) {
		return elector.status(ROLE).filter((status) -> status.state() == State.LEADING).isPresent();
	}

	private Lease lease() {
		return new JdbcLeaseStore(this.schema.open(), "steady").find(ROLE).orElseThrow();
	}

	private Usage usage() {
		long heap = Long.MAX_VALUE;
		for (int i = 0; i < 5; i++) {
			System.gc();
			heap = Math.min(heap, ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 1024);
		}
		return new Usage(ManagementFactory.getThreadMXBean().getThreadCount(),
				this.schema.queryForLong("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"),
				heap);
	}

	private static void leaveAlone(Duration duration) {
		Awaitility.await()
			.pollInterval(Duration.ofSeconds(1))
			.during(duration)
			.atMost(duration.plusSeconds(30))
			.until(() -> true);
	}

	private static void eventually(Callable<Boolean> condition) {
		Awaitility.await().atMost(Duration.ofSeconds(60)).until(condition);
	}

	private record Usage(int threads, long connections, long heapKilobytes) {
	}

	private static final class FailingDataSource extends DelegatingDataSource {

		private final AtomicBoolean fails = new AtomicBoolean();

		FailingDataSource(DataSource target) {
			super(target);
		}

		@Override
		public Connection getConnection() throws SQLException {
			if (this.fails.get()) {
				throw new SQLException("simulated", "08006");
			}
			return super.getConnection();
		}

	}

}
