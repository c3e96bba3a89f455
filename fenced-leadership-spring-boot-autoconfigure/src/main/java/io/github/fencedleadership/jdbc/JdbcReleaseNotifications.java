package io.github.fencedleadership.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

import io.github.fencedleadership.lease.ReleaseNotifications;

/**
 * {@link ReleaseNotifications} by {@code LISTEN} and {@code NOTIFY} of PostgreSQL.
 * <p>
 * Listens on one connection of the database's own pool, with a thread of its own, which
 * connects again whenever it has to. That takes PostgreSQL, its driver, and
 * {@link JdbcDatabase#isTold() a pool of one's own}; where one of them is missing nothing
 * is told, and standbys poll. So they do where something between node and server swallows
 * notifications, like a pooler that hands out a connection per transaction: a listener
 * that does not hear itself gives up, and tries again later.
 * <p>
 * Thread-safe.
 */
public final class JdbcReleaseNotifications implements ReleaseNotifications {

	/**
	 * For how long the connection may be silent before it is asked whether it is alive.
	 */
	static final Duration CHECK_INTERVAL = Duration.ofSeconds(30);

	private static final Log logger = LogFactory.getLog(JdbcReleaseNotifications.class);

	private static final Duration FIRST_RETRY = Duration.ofSeconds(1);

	private static final Duration LAST_RETRY = Duration.ofMinutes(1);

	private final JdbcDatabase database;

	private final String namespace;

	/**
	 * Create notifications.
	 * @param database the database of the leases
	 * @param namespace the scope of the role names
	 */
	public JdbcReleaseNotifications(JdbcDatabase database, String namespace) {
		this.database = Objects.requireNonNull(database, "'database' must not be null");
		this.namespace = JdbcLeaseStore.requireValidNamespace(namespace);
	}

	@Override
	public Subscription subscribe(Consumer<Set<String>> listener) {
		Objects.requireNonNull(listener, "'listener' must not be null");
		if (!this.database.isTold()) {
			return () -> {
			};
		}
		Listening listening = new Listening(listener);
		Thread thread = new Thread(listening, "fenced-leadership-notifications");
		thread.setDaemon(true);
		thread.start();
		return listening;
	}

	/**
	 * The roles that a notification is of.
	 * @param payload namespace and roles, as the release has put them
	 * @return the roles, empty if they are those of another namespace
	 */
	private Set<String> roles(String payload) {
		String prefix = this.namespace + PostgresDialect.NAMESPACE_SEPARATOR;
		return payload.startsWith(prefix)
				? Set.of(payload.substring(prefix.length()).split(PostgresDialect.ROLE_SEPARATOR)) : Set.of();
	}

	/**
	 * Listens until it is closed.
	 */
	private final class Listening implements Runnable, Subscription {

		private final Consumer<Set<String>> listener;

		private final CountDownLatch closed = new CountDownLatch(1);

		private volatile @Nullable Connection connection;

		private int failures;

		Listening(Consumer<Set<String>> listener) {
			this.listener = listener;
		}

		@Override
		public void run() {
			try {
				do {
					try {
						if (!"postgresql".equals(JdbcReleaseNotifications.this.database.getPlatform())) {
							logger.debug("Releases are told on PostgreSQL only; standbys poll");
							return;
						}
						listen();
					}
					catch (Exception ex) {
						report(ex);
					}
				}
				while (!this.closed.await(pause(), TimeUnit.MILLISECONDS));
			}
			catch (InterruptedException ex) {
				// Nobody but a close has a reason to.
			}
		}

		private void listen() throws SQLException {
			try (Connection own = JdbcReleaseNotifications.this.database.listeningConnection()) {
				this.connection = own;
				try {
					if (!isClosed()) {
						listen(own, own.unwrap(PGConnection.class));
					}
				}
				finally {
					this.connection = null;
					// Nobody else is to get a connection that listens.
					own.abort(Runnable::run);
				}
			}
		}

		private void listen(Connection own, PGConnection notified) throws SQLException {
			int bound = Math
				.toIntExact(Math.max(1, JdbcReleaseNotifications.this.database.getQueryTimeout().toMillis()));
			own.setNetworkTimeout(Runnable::run, bound);
			try (Statement statement = own.createStatement()) {
				statement.execute("LISTEN " + PostgresDialect.CHANNEL);
			}
			hearItself(own, notified, bound);
			if (this.failures > 0) {
				logger.info("Releases by other nodes are told again");
				this.failures = 0;
			}
			while (!isClosed()) {
				List<String> payloads = payloads(notified, (int) CHECK_INTERVAL.toMillis());
				tell(payloads);
				if (payloads.isEmpty() && !own.isValid(Math.max(1, bound / 1000))) {
					throw new SQLException("The connection is no longer alive", "08006");
				}
			}
		}

		private void hearItself(Connection own, PGConnection notified, int bound) throws SQLException {
			// Of no namespace, so that nobody else minds
			String probe = PostgresDialect.NAMESPACE_SEPARATOR + UUID.randomUUID();
			try (PreparedStatement statement = own.prepareStatement("SELECT pg_notify(?, ?)")) {
				statement.setString(1, PostgresDialect.CHANNEL);
				statement.setString(2, probe);
				statement.executeQuery().close();
			}
			long start = System.nanoTime();
			List<String> heard = new ArrayList<>();
			while (!heard.contains(probe)) {
				long left = bound - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
				if (left <= 0 || isClosed()) {
					throw new SQLException("A notification that was sent was not received", "08006");
				}
				heard.addAll(payloads(notified, (int) left));
			}
			tell(heard);
		}

		private static List<String> payloads(PGConnection notified, int timeout) throws SQLException {
			List<String> payloads = new ArrayList<>();
			PGNotification[] notifications = notified.getNotifications(timeout);
			for (PGNotification notification : (notifications != null) ? notifications : new PGNotification[0]) {
				if (PostgresDialect.CHANNEL.equals(notification.getName())) {
					payloads.add(notification.getParameter());
				}
			}
			return payloads;
		}

		private void tell(List<String> payloads) {
			Set<String> released = new TreeSet<>();
			payloads.forEach((payload) -> released.addAll(roles(payload)));
			if (!released.isEmpty() && !isClosed()) {
				this.listener.accept(released);
			}
		}

		private void report(Exception ex) {
			if (isClosed()) {
				return;
			}
			if (this.failures++ == 0) {
				logger.info("Releases by other nodes are not told for now, and standbys poll: " + ex.getMessage());
			}
			logger.debug("Cannot listen", ex);
		}

		private long pause() {
			double pause = FIRST_RETRY.toMillis() * Math.pow(2, Math.max(0, this.failures - 1));
			return (long) (Math.min(pause, LAST_RETRY.toMillis()) * (1 + ThreadLocalRandom.current().nextDouble() / 4));
		}

		private boolean isClosed() {
			return this.closed.getCount() == 0;
		}

		@Override
		public void close() {
			this.closed.countDown();
			Connection current = this.connection;
			if (current != null) {
				try {
					// It waits for the server, and hears nothing else.
					current.abort(Runnable::run);
				}
				catch (SQLException | RuntimeException ex) {
					logger.debug("The listening connection could not be aborted", ex);
				}
			}
		}

	}

}
