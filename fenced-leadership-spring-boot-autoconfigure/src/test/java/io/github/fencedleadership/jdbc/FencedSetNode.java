package io.github.fencedleadership.jdbc;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import com.zaxxer.hikari.HikariDataSource;

import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.election.DefaultLeaderElector;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.election.RoleSettings;
import io.github.fencedleadership.fencing.StaleFencingTokenException;

/**
 * A process of the {@link FencingExperimentIntegrationTests experiment}: while it leads,
 * it adds elements to a set by reading the set, working for a moment, and writing it
 * back. It asks whether it leads before each element, as any job would. Prints a line for
 * each element that was acknowledged, refused or failed.
 */
final class FencedSetNode {

	static final String ROLE = "set";

	static final RoleSettings SETTINGS = RoleSettings.of(Duration.ofSeconds(1), Duration.ofMillis(250),
			Duration.ofMillis(50), Duration.ofMillis(100), null);

	private final String name;

	private final JdbcClient jdbc;

	private final TransactionTemplate transactions;

	private final JdbcFencingGuard guard;

	private final boolean guarded;

	private int count;

	private FencedSetNode(String name, HikariDataSource dataSource, JdbcFencingGuard guard, boolean guarded) {
		this.name = name;
		this.jdbc = JdbcClient.create(dataSource);
		this.transactions = new TransactionTemplate(new JdbcTransactionManager(dataSource));
		this.guard = guard;
		this.guarded = guarded;
	}

	public static void main(String[] args) {
		String name = args[0];
		HikariDataSource dataSource = new HikariDataSource();
		dataSource.setJdbcUrl(args[1]);
		dataSource.setUsername(args[2]);
		dataSource.setPassword(args[3]);
		dataSource.setMaximumPoolSize(2);
		boolean guarded = Boolean.parseBoolean(args[4]);
		if (!guarded) {
			// What the guard does for its transactions. Without it, a leader that is
			// stopped between its write and its commit keeps everybody waiting.
			dataSource.setConnectionInitSql(args[1].startsWith("jdbc:postgresql:")
					? "SET idle_in_transaction_session_timeout = '1s'" : "SET SESSION idle_transaction_timeout = 1");
		}
		JdbcDatabase leases = JdbcDatabase.builder(dataSource)
			.connectionTimeout(Duration.ofMillis(500))
			.queryTimeout(Duration.ofSeconds(1))
			.build();
		JdbcDatabase marks = JdbcDatabase.builder(dataSource).queryTimeout(Duration.ofSeconds(5)).build();
		JdbcFencingGuard guard = new JdbcFencingGuard(marks, dataSource, "experiment", SETTINGS.leaseTtl());
		FencedSetNode node = new FencedSetNode(name, dataSource, guard, guarded);
		DefaultLeaderElector elector = DefaultLeaderElector.builder(new JdbcLeaseStore(leases, "experiment"))
			.ownerName(name)
			.settings(SETTINGS)
			.build();
		elector.register(LeaderTask.of(ROLE, node::lead));
		elector.start();
		elector.contend();
		say("READY " + name);
	}

	private void lead(Leadership leadership) {
		while (leadership.isHeld()) {
			this.count++;
			String element = this.name + "-" + this.count;
			try {
				String elements = this.transactions.execute((status) -> {
					check(leadership);
					return read();
				});
				work();
				this.transactions.executeWithoutResult((status) -> {
					check(leadership);
					write(elements + "," + element, leadership.fencingToken().value());
				});
				say("ACK " + element);
			}
			catch (StaleFencingTokenException ex) {
				say("REFUSED " + element + " " + ex.getMessage());
				return;
			}
			catch (DataAccessException | TransactionException ex) {
				// Its outcome is unknown, so it counts neither way.
				say("FAILED " + element + " " + ex);
			}
		}
	}

	private void check(Leadership leadership) {
		if (this.guarded) {
			this.guard.check("set", leadership.fencingToken());
		}
	}

	private String read() {
		return this.jdbc.sql("SELECT elements FROM experiment_set").query(String.class).single();
	}

	private void write(String elements, long token) {
		this.jdbc.sql("UPDATE experiment_set SET elements = ?, version = version + 1").param(elements).update();
		// The lock of the row that was just updated makes this the order of the commits.
		this.jdbc.sql("INSERT INTO experiment_write (version, fencing_token) SELECT version, ? FROM experiment_set")
			.param(token)
			.update();
	}

	/**
	 * Work that hears no interrupt, as a computation or a garbage collection would not.
	 */
	private static void work() {
		long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(30);
		while (System.nanoTime() < end) {
			LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
		}
	}

	private static void say(String line) {
		System.out.println(line);
		System.out.flush();
	}

}
