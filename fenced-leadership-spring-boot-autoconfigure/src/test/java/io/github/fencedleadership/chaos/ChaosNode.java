package io.github.fencedleadership.chaos;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import com.zaxxer.hikari.HikariDataSource;
import org.slf4j.LoggerFactory;

import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.chaos.HistoryEvent.Kind;
import io.github.fencedleadership.election.DefaultLeaderElector;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.election.LeadershipListener;
import io.github.fencedleadership.election.RevocationReason;
import io.github.fencedleadership.election.RoleSettings;
import io.github.fencedleadership.election.SteppedWallClock;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.StaleFencingTokenException;
import io.github.fencedleadership.jdbc.FencedTransactionTemplate;
import io.github.fencedleadership.jdbc.JdbcDatabase;
import io.github.fencedleadership.jdbc.JdbcFencingGuard;
import io.github.fencedleadership.jdbc.JdbcLeaseStore;

/**
 * A node as a process of its own. While it leads a role, it writes to the role's register
 * as any job would: it asks whether it leads, reads the register, works for a moment, and
 * writes back what comes after. Prints a {@link HistoryEvent} for all that happens.
 * <p>
 * Arguments: name, URL, user, password, lease TTL in milliseconds, whether writes are
 * guarded, roles. Takes {@link Command commands} from its standard input, and ends when
 * that ends: its parent is gone then.
 */
final class ChaosNode {

	static final String NAMESPACE = "chaos";

	private static final Duration WORK = Duration.ofMillis(100);

	private static final Duration REST = Duration.ofMillis(5);

	private static final int POOL_SIZE = 4;

	private final HikariDataSource dataSource;

	private final JdbcClient jdbc;

	private final JdbcTransactionManager transactionManager;

	private final JdbcFencingGuard guard;

	private final boolean guarded;

	private final DefaultLeaderElector elector;

	private final SteppedWallClock wallClock = new SteppedWallClock();

	private final Map<String, Leadership> leaderships = new ConcurrentHashMap<>();

	private final AtomicInteger elements = new AtomicInteger();

	private volatile boolean serializable;

	private volatile boolean deaf;

	private volatile boolean throwingListener;

	private volatile Duration listenerPause = Duration.ZERO;

	private ChaosNode(String name, HikariDataSource dataSource, Duration ttl, boolean guarded, List<String> roles) {
		this.dataSource = dataSource;
		this.guarded = guarded;
		this.jdbc = JdbcClient.create(dataSource);
		this.transactionManager = new JdbcTransactionManager(dataSource);
		JdbcDatabase leases = JdbcDatabase.builder(dataSource)
			.connectionTimeout(ttl.dividedBy(4))
			.queryTimeout(ttl.dividedBy(4))
			.build();
		JdbcDatabase marks = JdbcDatabase.builder(dataSource).queryTimeout(ttl.multipliedBy(3)).build();
		this.guard = new JdbcFencingGuard(marks, dataSource, NAMESPACE, ttl);
		DefaultLeaderElector.Builder builder = DefaultLeaderElector.builder(new JdbcLeaseStore(leases, NAMESPACE))
			.ownerName(name)
			.settings(RoleSettings.of(ttl, ttl.dividedBy(4), ttl.dividedBy(20), ttl.dividedBy(10), null))
			.drainTimeout(ttl.multipliedBy(2))
			.listener(new RecordingListener())
			.listener(new FaultyListener());
		this.elector = this.wallClock.clockOf(builder).build();
		roles.forEach((role) -> this.elector.register(LeaderTask.of(role, this::lead)));
	}

	public static void main(String[] args) throws IOException {
		((Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME)).setLevel(Level.WARN);
		((Logger) LoggerFactory.getLogger(DefaultLeaderElector.class)).setLevel(Level.INFO);
		HikariDataSource dataSource = new HikariDataSource();
		dataSource.setJdbcUrl(args[1]);
		dataSource.setUsername(args[2]);
		dataSource.setPassword(args[3]);
		dataSource.setMaximumPoolSize(POOL_SIZE);
		dataSource.setMinimumIdle(0);
		dataSource.setConnectionTimeout(1000);
		dataSource.setValidationTimeout(500);
		dataSource.setInitializationFailTimeout(-1);
		Duration ttl = Duration.ofMillis(Long.parseLong(args[4]));
		boolean guarded = Boolean.parseBoolean(args[5]);
		if (!guarded) {
			// What the guard does for its transactions. Without it, a leader that is
			// stopped between its write and its commit keeps everybody waiting.
			dataSource.setConnectionInitSql(args[1].startsWith("jdbc:postgresql:")
					? "SET idle_in_transaction_session_timeout = " + ttl.toMillis()
					: "SET SESSION idle_transaction_timeout = " + Math.max(ttl.toSeconds(), 1));
		}
		ChaosNode node = new ChaosNode(args[0], dataSource, ttl, guarded, List.of(args).subList(6, args.length));
		node.run();
	}

	private void run() throws IOException {
		this.elector.start();
		this.elector.contend();
		Runtime.getRuntime().addShutdownHook(new Thread(this::stop, "stop"));
		Thread sampler = new Thread(this::sampleBelief, "belief");
		sampler.setDaemon(true);
		sampler.start();
		say(Kind.STARTED, null, "-");
		try (BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
			for (String line = commands.readLine(); line != null; line = commands.readLine()) {
				String[] parts = line.split(" ", -1);
				obey(Command.valueOf(parts[0]), Long.parseLong(parts[1]));
			}
		}
		Runtime.getRuntime().halt(1);
	}

	private void stop() {
		say(Kind.STOPPING, null, "-");
		this.elector.close();
		say(Kind.STOPPED, null, "-");
	}

	private void obey(Command command, long argument) {
		switch (command) {
			case EXHAUST_POOL -> {
				Thread thread = new Thread(() -> exhaustPool(Duration.ofMillis(argument)), "exhaust");
				thread.setDaemon(true);
				thread.start();
			}
			case STEP_DOWN -> this.elector.statuses().forEach((status) -> this.elector.stepDown(status.role()));
			case STEP_CLOCK -> this.wallClock.setOffset(Duration.ofMillis(argument));
			case THROW_FROM_LISTENER -> this.throwingListener = argument > 0;
			case BLOCK_LISTENER -> this.listenerPause = Duration.ofMillis(argument);
			case IGNORE_INTERRUPTS -> this.deaf = argument > 0;
			case SERIALIZABLE -> this.serializable = argument > 0;
		}
	}

	/**
	 * Take connections and keep them, as an application does that leaks them.
	 */
	private void exhaustPool(Duration duration) {
		List<Connection> connections = new ArrayList<>();
		long end = System.nanoTime() + duration.toNanos();
		while (System.nanoTime() < end) {
			try {
				if (connections.size() < POOL_SIZE) {
					connections.add(this.dataSource.getConnection());
				}
			}
			catch (SQLException ex) {
				// Work has the others for now.
			}
			pause(Duration.ofMillis(10));
		}
		connections.forEach((connection) -> {
			try {
				connection.close();
			}
			catch (SQLException ex) {
				// It was broken meanwhile.
			}
		});
	}

	/**
	 * Look again and again whether each role is held, and tell the last time that it was.
	 */
	private void sampleBelief() {
		Map<String, HistoryEvent> held = new HashMap<>();
		long told = System.nanoTime();
		while (true) {
			boolean lost = false;
			for (Leadership leadership : this.leaderships.values()) {
				FencingToken token = leadership.fencingToken();
				long before = System.nanoTime();
				if (leadership.isHeld()) {
					held.put(token.role(), new HistoryEvent(before, System.nanoTime(), this.elector.ownerId(),
							Kind.HELD, token.role(), token.value(), "-"));
				}
				else {
					lost = true;
				}
			}
			if (lost || System.nanoTime() - told > TimeUnit.MILLISECONDS.toNanos(100)) {
				told = System.nanoTime();
				held.values().forEach(ChaosNode::say);
				held.clear();
			}
			pause(Duration.ofMillis(5));
		}
	}

	// The work

	private void lead(Leadership leadership) {
		this.leaderships.put(leadership.role(), leadership);
		say(Kind.WORK_STARTED, leadership.fencingToken(), "-");
		try {
			while (leadership.isHeld()) {
				write(leadership.fencingToken());
				leadership.await(REST);
			}
			if (this.deaf) {
				pause(WORK.multipliedBy(10));
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		finally {
			say(Kind.WORK_ENDED, leadership.fencingToken(), "-");
		}
	}

	private void write(FencingToken token) {
		String element = this.elector.ownerId() + "-" + this.elements.incrementAndGet();
		DefaultTransactionDefinition definition = new DefaultTransactionDefinition();
		if (this.serializable) {
			definition.setIsolationLevel(TransactionDefinition.ISOLATION_SERIALIZABLE);
		}
		try {
			String[] previous = new String[1];
			inTransaction(definition, token, () -> previous[0] = read(token.role()));
			say(Kind.READ, token, "-");
			// It hears no interrupt, as a computation or a garbage collection would not.
			pause(WORK);
			inTransaction(definition, token, () -> write(token, element, previous[0]));
			say(Kind.ACKNOWLEDGED, token, element);
		}
		catch (StaleFencingTokenException ex) {
			say(Kind.REFUSED, token, ex.getClass().getSimpleName());
			pause(WORK);
		}
		catch (DataAccessException | TransactionException ex) {
			// Its outcome is unknown, so it counts neither way.
			say(Kind.FAILED, token, ex.getClass().getSimpleName());
			pause(WORK);
		}
	}

	private void inTransaction(TransactionDefinition definition, FencingToken token, Runnable action) {
		if (this.guarded) {
			new FencedTransactionTemplate(this.transactionManager, this.guard, definition)
				.executeWithoutResult(token.role(), token, (status) -> action.run());
		}
		else {
			new TransactionTemplate(this.transactionManager, definition).executeWithoutResult((status) -> action.run());
		}
	}

	private String read(String role) {
		return this.jdbc.sql("SELECT head FROM chaos_register WHERE role = ?").param(role).query(String.class).single();
	}

	private void write(FencingToken token, String element, String previous) {
		this.jdbc.sql("UPDATE chaos_register SET head = ?, version = version + 1 WHERE role = ?")
			.params(element, token.role())
			.update();
		// The lock of the row that was just updated makes this the order of the commits.
		this.jdbc.sql("""
				INSERT INTO chaos_write (role, version, element, previous, fencing_token)
				SELECT role, version, ?, ?, ? FROM chaos_register WHERE role = ?""")
			.params(element, previous, token.value(), token.role())
			.update();
	}

	private static void pause(Duration duration) {
		long end = System.nanoTime() + duration.toNanos();
		boolean interrupted = false;
		while (System.nanoTime() < end) {
			LockSupport.parkNanos(Math.max(1, end - System.nanoTime()));
			interrupted |= Thread.interrupted();
		}
		if (interrupted) {
			Thread.currentThread().interrupt();
		}
	}

	private void say(Kind kind, FencingToken token, String detail) {
		long now = System.nanoTime();
		say(new HistoryEvent(now, now, this.elector.ownerId(), kind, (token != null) ? token.role() : "-",
				(token != null) ? token.value() : 0, detail));
	}

	private static void say(HistoryEvent event) {
		System.out.println(event.toLine());
		System.out.flush();
	}

	/**
	 * What a node can be told. Each has a number as its argument.
	 */
	enum Command {

		/** Take all connections of the application's pool, for so many milliseconds. */
		EXHAUST_POOL,

		/** Hand all roles over. */
		STEP_DOWN,

		/** Set the elector's wall clock ahead by so many milliseconds. */
		STEP_CLOCK,

		/** Whether a listener throws. */
		THROW_FROM_LISTENER,

		/** For how many milliseconds a listener blocks. */
		BLOCK_LISTENER,

		/** Whether work goes on for a while after its end. */
		IGNORE_INTERRUPTS,

		/** Whether writes are at the highest isolation level. */
		SERIALIZABLE

	}

	private final class RecordingListener implements LeadershipListener {

		@Override
		public void granted(FencingToken token) {
			say(Kind.GRANTED, token, "-");
		}

		@Override
		public void revoked(FencingToken token, RevocationReason reason) {
			say(Kind.REVOKED, token, reason.name());
		}

	}

	private final class FaultyListener implements LeadershipListener {

		@Override
		public void granted(FencingToken token) {
			fail();
		}

		@Override
		public void revoked(FencingToken token, RevocationReason reason) {
			fail();
		}

		private void fail() {
			pause(ChaosNode.this.listenerPause);
			if (ChaosNode.this.throwingListener) {
				throw new IllegalStateException("The listener throws");
			}
		}

	}

}
