package io.github.fencedleadership.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.dao.CannotAcquireLockException;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import io.github.fencedleadership.fencing.FencingGuard;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.Resources;
import io.github.fencedleadership.fencing.StaleFencingTokenException;
import io.github.fencedleadership.fencing.UnknownFencingTokenException;
import io.github.fencedleadership.jdbc.FencingDialect.CheckedMark;
import io.github.fencedleadership.jdbc.FencingDialect.Mark;

/**
 * A {@link FencingGuard} in the database that is written to. A check works only inside
 * the caller's transaction on the guard's own DataSource, and holds the mark of the
 * resource until that transaction ends.
 * <p>
 * Guarantees, with the mark in the same transaction as the write:
 * <ul>
 * <li>A write with a token commits only if no write of that resource with a higher token
 * of that role was checked before it.</li>
 * <li>If the table of leases is visible through the DataSource, a write is refused from
 * the moment the next term is granted: at READ COMMITTED by what is committed when the
 * check is made, at REPEATABLE READ and above by what was committed when the
 * transaction's snapshot was taken (MariaDB and MySQL look outside of the transaction at
 * SERIALIZABLE). Otherwise from the next term's first check on.</li>
 * <li>Writers of a term run side by side (on H2 one after the other). The first check of
 * a newer term waits for running writers of older ones.</li>
 * </ul>
 * So that a leader that is frozen inside of its transaction does not keep its successor
 * waiting, the transaction is bound to be idle for no longer than the idle timeout: the
 * database then ends it. Only for the transaction: on PostgreSQL the bound is local to
 * it, elsewhere it is put back before the commit. It does not bound a statement that
 * runs, nor a backend that is sending to a frozen client. H2 has none.
 * <p>
 * The first check of a resource in a term raises its mark in a transaction of its own,
 * which commits whatever becomes of the write. Do it before other rows are locked, or
 * {@link #prepare} it before the transaction: it waits for older writers, and if one of
 * them waits for a row that the caller has locked, only the bounds end that.
 * <p>
 * Throws {@link IllegalTransactionStateException} if there is no such transaction, before
 * anything is written. Failures of the database are
 * {@link org.springframework.dao.DataAccessException}s, and those that are worth another
 * try are {@link org.springframework.dao.TransientDataAccessException}s. Thread-safe.
 */
public final class JdbcFencingGuard implements FencingGuard, AutoCloseable {

	private static final Log logger = LogFactory.getLog(JdbcFencingGuard.class);

	/** Less would be none where databases count in milliseconds. */
	private static final Duration MIN_IDLE_TIMEOUT = Duration.ofMillis(1);

	/** More than databases can count to. */
	private static final Duration MAX_IDLE_TIMEOUT = Duration.ofDays(20);

	/**
	 * Where marks are if the DataSource leads to one database only.
	 */
	private static final String SINGLE_PLACE = "";

	/**
	 * How many marks are remembered as raised. One that is not costs another statement.
	 */
	private static final int MAX_REMEMBERED = 10_000;

	private final JdbcDatabase database;

	private final DataSource dataSource;

	private final String namespace;

	private final Duration idleTimeout;

	private final Map<PlacedMark, Long> raised = Collections.synchronizedMap(new LinkedHashMap<>(16, 0.75f, true) {

		@Override
		protected boolean removeEldestEntry(Map.Entry<PlacedMark, Long> eldest) {
			return size() > MAX_REMEMBERED;
		}

	});

	private final boolean routed;

	private final Map<String, Boolean> leaseVisible = new ConcurrentHashMap<>();

	private final Map<String, Integer> defaultIsolation = new ConcurrentHashMap<>();

	private volatile @Nullable FencingDialect dialect;

	/**
	 * Create a guard.
	 * @param database how to reach the marks for raising them; its query timeout bounds
	 * for how long a raise waits for writers of older terms; closed with the guard
	 * @param dataSource the DataSource of the transactions that are guarded, of the same
	 * database; if it leads to several, depending on the caller, the database has to be
	 * {@linkplain JdbcDatabase.Builder#askOnCallersThread asked on the caller's thread}
	 * @param namespace the scope of the role names
	 * @param idleTimeout for how long a guarded transaction may be idle, from a
	 * millisecond to 20 days, zero for as long as it likes; MariaDB and MySQL count in
	 * whole seconds, and it is rounded up
	 */
	public JdbcFencingGuard(JdbcDatabase database, DataSource dataSource, String namespace, Duration idleTimeout) {
		this.database = Objects.requireNonNull(database, "'database' must not be null");
		this.dataSource = unwrap(Objects.requireNonNull(dataSource, "'dataSource' must not be null"));
		this.routed = JdbcDatabase.isRouted(this.dataSource);
		this.namespace = JdbcLeaseStore.requireValidNamespace(namespace);
		this.idleTimeout = requireIdleTimeout(idleTimeout);
	}

	private static Duration requireIdleTimeout(Duration idleTimeout) {
		Objects.requireNonNull(idleTimeout, "'idleTimeout' must not be null");
		if (!idleTimeout.isZero()
				&& (idleTimeout.compareTo(MIN_IDLE_TIMEOUT) < 0 || idleTimeout.compareTo(MAX_IDLE_TIMEOUT) > 0)) {
			throw new IllegalArgumentException("Idle timeout '%s' must be zero, or from '%s' to '%s'"
				.formatted(idleTimeout, MIN_IDLE_TIMEOUT, MAX_IDLE_TIMEOUT));
		}
		return idleTimeout;
	}

	/**
	 * Transaction managers bind their connection under the target of such a proxy.
	 */
	private static DataSource unwrap(DataSource dataSource) {
		return (dataSource instanceof TransactionAwareDataSourceProxy proxy && proxy.getTargetDataSource() != null)
				? unwrap(proxy.getTargetDataSource()) : dataSource;
	}

	@Override
	public void prepare(String resource, FencingToken token) {
		Mark mark = markOf(Resources.validate(resource), token);
		String place = this.routed ? String.valueOf(this.database.getUrl()) : SINGLE_PLACE;
		raise(new PlacedMark(place, mark), token);
	}

	@Override
	public void check(String resource, FencingToken token) {
		Mark mark = markOf(Resources.validate(resource), token);
		requireTransaction(resource);
		Connection connection = DataSourceUtils.getConnection(this.dataSource);
		try {
			requireTransactional(connection, resource);
			String place = this.routed ? String.valueOf(connection.getMetaData().getURL()) : SINGLE_PLACE;
			check(connection, new PlacedMark(place, mark), token);
		}
		catch (SQLException ex) {
			throw this.database.translate("check fencing token '%s' for resource '%s'".formatted(token, resource), ex);
		}
		finally {
			DataSourceUtils.releaseConnection(connection, this.dataSource);
		}
	}

	private void check(Connection connection, PlacedMark placed, FencingToken token) throws SQLException {
		raise(placed, token);
		FencingDialect dialect = dialect();
		int isolation = isolation(connection, placed.place());
		CheckedMark checked = check(connection, dialect, placed, isolation);
		if (checked == null && !dialect.locksWhatIsMissing(isolation)) {
			// Somebody has deleted it since it was raised. Nothing is locked, so that
			// raising it cannot wait for this very transaction.
			this.raised.remove(placed);
			raise(placed, token);
			checked = check(connection, dialect, placed, isolation);
		}
		if (checked == null || checked.token() < token.value()) {
			this.raised.remove(placed);
			if (isLeaseVisible(placed.place())) {
				// No other try is worth it for a token that is known to be stale
				compareWithLease(placed.mark().resource(), token, newestToken(dialect, placed.mark()));
			}
			throw new CannotAcquireLockException(
					"The mark of resource '%s' and role '%s' was raised after the snapshot of the transaction, or changed by hand. Try the transaction again, or prepare the check before the transaction"
						.formatted(placed.mark().resource(), token.qualifiedRole()));
		}
		compare(placed.mark().resource(), token, checked, dialect.seesNewestLease(isolation));
	}

	private Mark markOf(String resource, FencingToken token) {
		String namespace = token.namespace();
		return new Mark((namespace != null) ? namespace : this.namespace, token.role(), resource);
	}

	/**
	 * In an old snapshot there may be no trace yet of the caller's own term. That it was
	 * granted is known since its token was raised.
	 */
	private static void compare(String resource, FencingToken token, CheckedMark checked, boolean newestLease) {
		if (newestLease || checked.newestToken() > token.value()) {
			compareWithLease(resource, token, checked.newestToken());
		}
		if (checked.token() > token.value()) {
			throw new StaleFencingTokenException(resource, token, checked.token());
		}
	}

	private static void compareWithLease(String resource, FencingToken token, long newest) {
		if (newest > token.value()) {
			throw new StaleFencingTokenException(resource, token, newest);
		}
		// The leases of another application's namespace are usually somewhere else.
		boolean visible = newest != CheckedMark.UNKNOWN && (newest > 0 || token.namespace() == null);
		if (visible && newest < token.value()) {
			throw new UnknownFencingTokenException(resource, token, newest);
		}
	}

	// The transaction

	private void requireTransaction(String resource) {
		if (!TransactionSynchronizationManager.isActualTransactionActive()) {
			throw new IllegalTransactionStateException(
					"A guarded write to '%s' needs a transaction, and there is none. Use @FencedWrite, a FencedTransactionTemplate, or check inside of a transaction"
						.formatted(resource));
		}
		if (TransactionSynchronizationManager.isCurrentTransactionReadOnly()) {
			throw new IllegalTransactionStateException(
					"A guarded write to '%s' needs a transaction that may write, and the current one is read-only"
						.formatted(resource));
		}
		if (!TransactionSynchronizationManager.hasResource(this.dataSource)) {
			throw anotherTransaction(resource);
		}
	}

	private void requireTransactional(Connection connection, String resource) throws SQLException {
		if (connection.getAutoCommit()) {
			throw anotherTransaction(resource);
		}
	}

	private static IllegalTransactionStateException anotherTransaction(String resource) {
		return new IllegalTransactionStateException(
				"A guarded write to '%s' needs a transaction of the guard's DataSource, and the current one is of another. Use the transaction manager of that DataSource, or a guard of this one"
					.formatted(resource));
	}

	/**
	 * Some drivers ask the database for it. So what the transaction was begun with is
	 * looked at, and the default of the connections asked for once.
	 */
	private int isolation(Connection connection, String place) throws SQLException {
		Integer isolation = TransactionSynchronizationManager.getCurrentTransactionIsolationLevel();
		if (isolation == null) {
			isolation = this.defaultIsolation.get(place);
		}
		if (isolation == null) {
			isolation = connection.getTransactionIsolation();
			this.defaultIsolation.put(place, isolation);
		}
		return isolation;
	}

	private @Nullable CheckedMark check(Connection connection, FencingDialect dialect, PlacedMark placed, int isolation)
			throws SQLException {
		Mark mark = placed.mark();
		boolean lease = isLeaseVisible(placed.place());
		boolean leaseInside = lease && dialect.canSeeLease(isolation);
		CheckedMark checked;
		try (PreparedStatement statement = connection.prepareStatement(dialect.check(leaseInside))) {
			DataSourceUtils.applyTransactionTimeout(statement, this.dataSource);
			checked = dialect.check(statement, mark, leaseInside, this.idleTimeout.toMillis());
		}
		if (checked == null) {
			return null;
		}
		boundIdle(dialect, connection, checked.previousIdleSeconds());
		if (lease && !leaseInside) {
			return new CheckedMark(checked.token(), newestToken(dialect, mark), checked.previousIdleSeconds());
		}
		return checked;
	}

	/**
	 * Look outside of the caller's transaction.
	 */
	private long newestToken(FencingDialect dialect, Mark mark) {
		return this.database.call("look for the newest term of role '%s'".formatted(mark.role()),
				(session, jdbcDialect) -> dialect.newestToken(session, mark.namespace(), mark.role()));
	}

	private void boundIdle(FencingDialect dialect, Connection connection, long previousSeconds) throws SQLException {
		if (this.idleTimeout.isZero() || previousSeconds == CheckedMark.UNKNOWN) {
			return;
		}
		String restore = dialect.boundIdle(connection, previousSeconds, this.idleTimeout);
		if (restore != null) {
			TransactionSynchronizationManager.registerSynchronization(new RestoreIdleBound(restore));
		}
	}

	// Raising

	private void raise(PlacedMark placed, FencingToken token) {
		Long known = this.raised.get(placed);
		if (known != null && known >= token.value()) {
			return;
		}
		Mark mark = placed.mark();
		boolean lease = isLeaseVisible(placed.place());
		this.database.call("raise the mark of resource '%s'".formatted(mark.resource()), (session, jdbcDialect) -> {
			FencingDialect dialect = dialect(jdbcDialect);
			if (lease) {
				// First: a token that no term has must not shut out the terms to
				// come.
				compareWithLease(mark.resource(), token, dialect.newestToken(session, mark.namespace(), mark.role()));
			}
			// To raise it is to wait for all writers. Another process may have done so.
			long current = dialect.currentMark(session, mark);
			if (current > token.value()) {
				throw new StaleFencingTokenException(mark.resource(), token, current);
			}
			if (current < token.value()) {
				dialect.raise(session, mark, token.value());
			}
			return true;
		});
		this.raised.merge(placed, token.value(), Math::max);
	}

	/**
	 * Return whether the guard sees the leases, and so refuses a stale writer from the
	 * moment its successor is elected.
	 * @return {@code true} if the table of leases is visible through the DataSource
	 * @throws org.springframework.dao.DataAccessException if the database does not answer
	 */
	public boolean isLeaseVisible() {
		return isLeaseVisible(this.routed ? String.valueOf(this.database.getUrl()) : SINGLE_PLACE);
	}

	private boolean isLeaseVisible(String place) {
		Boolean visible = this.leaseVisible.get(place);
		if (visible == null) {
			requireMarks();
			visible = this.database.call("look for the leases",
					(session, jdbcDialect) -> jdbcDialect.isVisible(session, this.database.getLeaseTable()));
			if (this.leaseVisible.put(place, visible) == null) {
				logger.info(visible
						? "Guarded writes are refused from the moment a newer term is granted: table '%s' is visible to them"
							.formatted(this.database.getLeaseTable())
						: "Guarded writes are refused from a newer term's first write on: table '%s' is not visible to them"
							.formatted(this.database.getLeaseTable()));
			}
		}
		return visible;
	}

	private void requireMarks() {
		String table = this.database.getResourceTable();
		if (!this.database.hasTable(table)) {
			throw new MissingFencingTableException(table, this.database.getPlatform());
		}
	}

	/**
	 * Look whether the table of the marks is there. A database that does not answer is
	 * left alone; the first check looks again.
	 * @throws MissingFencingTableException if it answers, and has no such table
	 */
	@Override
	public void verify() {
		if (this.routed) {
			// To where depends on who asks.
			return;
		}
		try {
			isLeaseVisible();
		}
		catch (DataAccessException ex) {
			logger.warn("The database that is written to does not answer: nothing can be written fenced until it does. "
					+ ex.getMessage());
		}
	}

	/**
	 * Close what reaches the marks. The DataSource stays open.
	 */
	@Override
	public void close() {
		this.database.close();
	}

	private FencingDialect dialect() {
		FencingDialect known = this.dialect;
		return (known != null) ? known
				: this.database.call("find out the database", (session, jdbcDialect) -> dialect(jdbcDialect));
	}

	private FencingDialect dialect(JdbcDialect jdbcDialect) {
		FencingDialect known = this.dialect;
		if (known == null) {
			known = FencingDialect.of(jdbcDialect, this.database.tables());
			this.dialect = known;
		}
		return known;
	}

	/**
	 * A mark in one of the databases that a DataSource may lead to.
	 */
	private record PlacedMark(String place, Mark mark) {

	}

	/**
	 * Puts the idle bound of a pooled connection back: after the end of the transaction,
	 * as a leader that is frozen just before its commit would otherwise keep its locks
	 * for as long as it is frozen, and before the connection goes back to its pool.
	 */
	private final class RestoreIdleBound implements TransactionSynchronization {

		private final String sql;

		RestoreIdleBound(String sql) {
			this.sql = sql;
		}

		@Override
		public void afterCompletion(int status) {
			if (!TransactionSynchronizationManager.hasResource(JdbcFencingGuard.this.dataSource)) {
				return;
			}
			Connection connection = DataSourceUtils.getConnection(JdbcFencingGuard.this.dataSource);
			try (Statement statement = connection.createStatement()) {
				statement.execute(this.sql);
			}
			catch (SQLException ex) {
				logger.debug("The idle bound of a connection could not be put back; it is given up", ex);
				abort(connection);
			}
			finally {
				DataSourceUtils.releaseConnection(connection, JdbcFencingGuard.this.dataSource);
			}
		}

		private static void abort(Connection connection) {
			try {
				connection.abort(Runnable::run);
			}
			catch (SQLException | RuntimeException ex) {
				logger.debug("A connection could not be aborted", ex);
			}
		}

	}

}
