package io.github.fencedleadership.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLTimeoutException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * A connection for the time of one call: bounded, in auto-commit mode, at READ COMMITTED,
 * writable. Whatever is changed for that is changed back at the end.
 */
final class Session {

	private static final Log logger = LogFactory.getLog(Session.class);

	private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

	private final Connection connection;

	private final boolean owned;

	private final long deadline;

	private final Deque<Restore> restores = new ArrayDeque<>();

	private boolean networkTimeout;

	private Session(Connection connection, boolean owned, Duration timeout) {
		this.connection = connection;
		this.owned = owned;
		this.deadline = System.nanoTime() + timeout.toNanos();
	}

	/**
	 * Open a session.
	 * @param connection the connection
	 * @param owned whether it comes from a pool that has it in the right state already
	 * @param timeout the bound of everything that is done
	 * @return the session, which has to be {@link #end ended}
	 * @throws SQLException if the connection cannot be used
	 */
	static Session begin(Connection connection, boolean owned, Duration timeout) throws SQLException {
		Session session = new Session(connection, owned, timeout);
		try {
			session.boundNetwork();
			if (!owned) {
				session.adjust();
			}
			return session;
		}
		catch (SQLException | RuntimeException | Error ex) {
			session.end();
			throw ex;
		}
	}

	private void boundNetwork() {
		try {
			int previous = this.connection.getNetworkTimeout();
			this.connection.setNetworkTimeout(Runnable::run, (int) remaining(TimeUnit.MILLISECONDS));
			this.networkTimeout = true;
			this.restores.push(() -> this.connection.setNetworkTimeout(Runnable::run, previous));
		}
		catch (SQLException | RuntimeException | AbstractMethodError ex) {
			// The query timeout is left as the only bound then
			logger.trace("The driver does not support network timeouts", ex);
		}
	}

	/**
	 * Auto-commit comes first: the others must not be changed within a transaction.
	 */
	private void adjust() throws SQLException {
		if (!this.connection.getAutoCommit()) {
			this.connection.setAutoCommit(true);
			this.restores.push(() -> this.connection.setAutoCommit(false));
		}
		if (this.connection.isReadOnly()) {
			this.connection.setReadOnly(false);
			this.restores.push(() -> this.connection.setReadOnly(true));
		}
		int isolation = this.connection.getTransactionIsolation();
		if (isolation != Connection.TRANSACTION_READ_COMMITTED) {
			this.connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
			this.restores.push(() -> this.connection.setTransactionIsolation(isolation));
		}
	}

	/**
	 * Return the physical connection, to remember what was set on it.
	 * @return the connection
	 */
	Connection physical() {
		try {
			return this.connection.unwrap(Connection.class);
		}
		catch (SQLException ex) {
			return this.connection;
		}
	}

	Connection connection() {
		return this.connection;
	}

	boolean isOwned() {
		return this.owned;
	}

	void onEnd(Restore restore) {
		this.restores.push(restore);
	}

	/**
	 * Prepare a statement that ends, one way or another, within what is left of the
	 * bound.
	 * @param sql the statement
	 * @return the statement
	 * @throws SQLException if the bound is reached or the connection fails
	 */
	PreparedStatement prepare(String sql) throws SQLException {
		long remaining = remaining(TimeUnit.MILLISECONDS);
		if (this.networkTimeout) {
			this.connection.setNetworkTimeout(Runnable::run, (int) remaining);
		}
		PreparedStatement statement = this.connection.prepareStatement(sql);
		try {
			// Whole seconds only. Where possible the server cancels before the client
			// hangs
			// up, so that nothing is carried out after all that was given up
			statement.setQueryTimeout((int) Math.max((remaining + 250) / 1000, 1));
		}
		catch (SQLFeatureNotSupportedException ex) {
			logger.trace("The driver does not support query timeouts", ex);
		}
		return statement;
	}

	void execute(String sql) throws SQLException {
		try (Statement statement = this.connection.createStatement()) {
			statement.execute(sql);
		}
	}

	long queryForLong(String sql) throws SQLException {
		try (PreparedStatement statement = prepare(sql); ResultSet row = statement.executeQuery()) {
			row.next();
			return row.getLong(1);
		}
	}

	/**
	 * Run several statements as one transaction of its own.
	 * @param <T> the type of the result
	 * @param work the statements
	 * @return the result
	 * @throws SQLException if it failed; it is then rolled back, unless it was the commit
	 * that failed
	 */
	<T> T inTransaction(Work<T> work) throws SQLException {
		this.connection.setAutoCommit(false);
		boolean committed = false;
		try {
			T result = work.run();
			this.connection.commit();
			committed = true;
			return result;
		}
		finally {
			if (!committed) {
				undo(this.connection::rollback);
			}
			undo(() -> this.connection.setAutoCommit(true));
		}
	}

	/**
	 * Leave the connection as it was found. One that cannot be restored is broken, and
	 * nobody else may get it.
	 */
	void end() {
		while (!this.restores.isEmpty()) {
			if (!undo(this.restores.pop())) {
				return;
			}
		}
	}

	private boolean undo(Restore restore) {
		try {
			restore.run();
			return true;
		}
		catch (SQLException | RuntimeException ex) {
			logger.debug("A connection could not be restored and is given up", ex);
			try {
				this.connection.abort(Runnable::run);
			}
			catch (SQLException | RuntimeException | AbstractMethodError abortFailure) {
				logger.debug("A connection could not be aborted", abortFailure);
			}
			this.restores.clear();
			return false;
		}
	}

	/**
	 * Wait a moment before something is tried again.
	 * @return {@code false} if there is no time left for it
	 * @throws SQLException if interrupted
	 */
	boolean pause() throws SQLException {
		if (this.deadline - System.nanoTime() <= 2 * PAUSE_NANOS) {
			return false;
		}
		try {
			TimeUnit.NANOSECONDS.sleep(PAUSE_NANOS);
			return true;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new SQLTimeoutException("Interrupted while waiting to try again", "57014", ex);
		}
	}

	private long remaining(TimeUnit unit) throws SQLTimeoutException {
		long remaining = unit.convert(this.deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
		if (remaining <= 0) {
			throw new SQLTimeoutException("The time for the statements is over", "57014");
		}
		return Math.min(remaining, Integer.MAX_VALUE);
	}

	/**
	 * Puts something back.
	 */
	interface Restore {

		void run() throws SQLException;

	}

	/**
	 * Some statements.
	 *
	 * @param <T> the type of the result
	 */
	interface Work<T> {

		T run() throws SQLException;

	}

}
