package io.github.fencedleadership.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * How the guard speaks to one database.
 * <p>
 * Two kinds of statements take part. A <em>raise</em> runs in a short transaction of its
 * own at READ COMMITTED, at most once per process, resource and term; it waits for
 * writers of older terms that hold the mark, and shuts them out. A <em>check</em> runs in
 * the transaction of the write, holds the mark with a shared lock until that ends, and
 * compares. No lock is ever upgraded: a check never changes the mark, so checks do not
 * wait for each other, and a raise holds nothing while it waits. A raise is never asked
 * for while the transaction of the check holds anything that it would wait for.
 */
abstract class FencingDialect {

	private final TableNames tables;

	private final JdbcDialect dialect;

	FencingDialect(TableNames tables, JdbcDialect dialect) {
		this.tables = tables;
		this.dialect = dialect;
	}

	static FencingDialect of(JdbcDialect dialect, TableNames tables) {
		if (dialect instanceof PostgresDialect) {
			return new Postgres(tables, dialect);
		}
		if (dialect instanceof MySqlDialect) {
			return new MySql(tables, dialect);
		}
		return (dialect instanceof MariaDbDialect) ? new MariaDb(tables, dialect) : new H2(tables, dialect);
	}

	final TableNames tables() {
		return this.tables;
	}

	final String now() {
		return this.dialect.now();
	}

	/**
	 * Return the token of the newest term of a role, as of now.
	 * @return the token, 0 if the role has never been led
	 */
	final long newestToken(Session session, String namespace, String role) throws SQLException {
		String sql = "SELECT fencing_token FROM %s WHERE namespace = ? AND role = ?".formatted(this.tables.lease());
		try (PreparedStatement statement = session.prepare(sql)) {
			statement.setString(1, namespace);
			statement.setString(2, role);
			try (ResultSet row = statement.executeQuery()) {
				return row.next() ? row.getLong(1) : 0;
			}
		}
	}

	/**
	 * Return the token of a mark, without a lock.
	 * @return the token, 0 if there is no such mark
	 */
	final long currentMark(Session session, Mark mark) throws SQLException {
		String sql = "SELECT fencing_token FROM %s WHERE namespace = ? AND role = ? AND resource = ?"
			.formatted(this.tables.resource());
		try (PreparedStatement statement = session.prepare(sql)) {
			statement.setString(1, mark.namespace());
			statement.setString(2, mark.role());
			statement.setString(3, mark.resource());
			try (ResultSet row = statement.executeQuery()) {
				return row.next() ? row.getLong(1) : 0;
			}
		}
	}

	/**
	 * Raise a mark, unless it is as high already. Waits for writers of older terms.
	 */
	abstract void raise(Session session, Mark mark, long token) throws SQLException;

	/**
	 * Return the statement of a check, with the columns mark, newest token of the role
	 * (or NULL), and previous idle bound in seconds (or NULL).
	 */
	abstract String check(boolean withLease);

	/**
	 * Bind what comes before namespace, role and resource of the mark.
	 * @return the next index
	 */
	abstract int bindCheck(PreparedStatement statement, Mark mark, boolean withLease, long idleMillis)
			throws SQLException;

	/**
	 * Take the shared lock of a mark and read it, with what is needed for the comparison.
	 * @return what was read, {@code null} if there is no such mark
	 */
	final @Nullable CheckedMark check(PreparedStatement statement, Mark mark, boolean withLease, long idleMillis)
			throws SQLException {
		int index = bindCheck(statement, mark, withLease, idleMillis);
		statement.setString(index++, mark.namespace());
		statement.setString(index++, mark.role());
		statement.setString(index, mark.resource());
		try (ResultSet row = statement.executeQuery()) {
			if (!row.next()) {
				return null;
			}
			long token = row.getLong(1);
			long newest = row.getLong(2);
			boolean leaseKnown = withLease && !row.wasNull();
			long idle = row.getLong(3);
			return new CheckedMark(token, leaseKnown ? newest : CheckedMark.UNKNOWN,
					row.wasNull() ? CheckedMark.UNKNOWN : idle);
		}
	}

	/**
	 * Return whether the look at the lease may be part of the check.
	 * @param isolation the isolation level of the transaction
	 * @return {@code false} if it would lock the lease for as long as the transaction
	 * runs
	 */
	boolean canSeeLease(int isolation) {
		return true;
	}

	/**
	 * Return whether the look at the lease sees what is committed when the check begins.
	 * @param isolation the isolation level of the transaction
	 * @return {@code false} if it sees what was committed when the transaction began
	 */
	boolean seesNewestLease(int isolation) {
		return isolation <= Connection.TRANSACTION_READ_COMMITTED;
	}

	/**
	 * Return whether a check of a mark that does not exist locks the place where it would
	 * be.
	 * @param isolation the isolation level of the transaction
	 * @return {@code true} if the mark cannot be raised for as long as the transaction
	 * runs
	 */
	boolean locksWhatIsMissing(int isolation) {
		return false;
	}

	/**
	 * Bound for how long the transaction may be idle, if that takes a statement of its
	 * own.
	 * @param previousSeconds the bound so far, 0 for none
	 * @param idle the bound
	 * @return the statement that restores what was, {@code null} if nothing was changed
	 */
	@Nullable String boundIdle(Connection connection, long previousSeconds, Duration idle) throws SQLException {
		return null;
	}

	/**
	 * What a mark is of.
	 */
	record Mark(String namespace, String role, String resource) {

		/**
		 * Return a number for the locks of databases that lock numbers. Two marks may
		 * have the same, and then keep each other waiting, no more.
		 * @return the number
		 */
		long lockKey() {
			long hash = 0xcbf29ce484222325L;
			for (String part : new String[] { "fenced_resource", this.namespace, this.role, this.resource }) {
				for (int i = 0; i < part.length(); i++) {
					hash = (hash ^ part.charAt(i)) * 0x100000001b3L;
				}
				hash = (hash ^ 0xffff) * 0x100000001b3L;
			}
			return hash;
		}

	}

	/**
	 * What a check has read.
	 */
	record CheckedMark(long token, long newestToken, long previousIdleSeconds) {

		static final long UNKNOWN = -1;

	}

	/**
	 * PostgreSQL. The lock that keeps writers and raises apart is an advisory one, which
	 * is first come, first served: on the row alone, a stream of writers that share it
	 * would keep a raise waiting for ever. The row is locked as well, so that at
	 * REPEATABLE READ and SERIALIZABLE a mark that was raised after the snapshot is a
	 * serialization failure, and not an old value. Locks, mark, newest term and idle
	 * bound are one statement.
	 * <p>
	 * If the statement waits, it waits for the advisory lock, and the row is then locked
	 * and read in its newest version, which is read again for the comparison.
	 */
	private static final class Postgres extends FencingDialect {

		Postgres(TableNames tables, JdbcDialect dialect) {
			super(tables, dialect);
		}

		@Override
		void raise(Session session, Mark mark, long token) throws SQLException {
			String sql = """
					WITH lock AS MATERIALIZED (SELECT pg_advisory_xact_lock(?))
					INSERT INTO %s AS m (namespace, role, resource, fencing_token, raised_at)
					SELECT ?, ?, ?, ?, %s FROM lock
					ON CONFLICT (namespace, role, resource) DO UPDATE
						SET fencing_token = excluded.fencing_token, raised_at = excluded.raised_at
						WHERE m.fencing_token < excluded.fencing_token""".formatted(tables().resource(), now());
			try (PreparedStatement statement = session.prepare(sql)) {
				statement.setLong(1, mark.lockKey());
				statement.setString(2, mark.namespace());
				statement.setString(3, mark.role());
				statement.setString(4, mark.resource());
				statement.setLong(5, token);
				statement.executeUpdate();
			}
		}

		@Override
		String check(boolean withLease) {
			String newest = withLease
					? "coalesce((SELECT l.fencing_token FROM %s l WHERE l.namespace = ? AND l.role = ?), 0)"
						.formatted(tables().lease())
					: "NULL::bigint";
			return """
					SELECT m.fencing_token, %s, NULL::bigint, pg_advisory_xact_lock_shared(?),
						set_config('idle_in_transaction_session_timeout', CASE
							WHEN ?::bigint = 0 THEN current_setting('idle_in_transaction_session_timeout')
							WHEN extract(epoch FROM current_setting('idle_in_transaction_session_timeout')::interval)
								* 1000 BETWEEN 1 AND ?::bigint
								THEN current_setting('idle_in_transaction_session_timeout')
							ELSE ?::text END, true)
					FROM %s m WHERE m.namespace = ? AND m.role = ? AND m.resource = ? FOR SHARE OF m"""
				.formatted(newest, tables().resource());
		}

		@Override
		int bindCheck(PreparedStatement statement, Mark mark, boolean withLease, long idleMillis) throws SQLException {
			int index = 1;
			if (withLease) {
				statement.setString(index++, mark.namespace());
				statement.setString(index++, mark.role());
			}
			statement.setLong(index++, mark.lockKey());
			statement.setLong(index++, idleMillis);
			statement.setLong(index++, idleMillis);
			statement.setString(index++, Long.toString(idleMillis));
			return index;
		}

	}

	/**
	 * MariaDB. InnoDB queues a raise before writers that come later, so the lock of the
	 * row is all that is needed, and a locking read reads the newest version at any
	 * isolation level. The look at the lease is a plain read: as of the statement at READ
	 * COMMITTED, as of the transaction's snapshot at REPEATABLE READ. At SERIALIZABLE it
	 * would lock the lease and get in the way of its own renewal, so there it is made
	 * outside of the transaction.
	 */
	private static class MariaDb extends FencingDialect {

		MariaDb(TableNames tables, JdbcDialect dialect) {
			super(tables, dialect);
		}

		@Override
		void raise(Session session, Mark mark, long token) throws SQLException {
			String sql = """
					INSERT INTO %s (namespace, role, resource, fencing_token, raised_at) VALUES (?, ?, ?, ?, %s)
					ON DUPLICATE KEY UPDATE raised_at = IF(fencing_token < VALUES(fencing_token), VALUES(raised_at),
						raised_at), fencing_token = GREATEST(fencing_token, VALUES(fencing_token))"""
				.formatted(tables().resource(), now());
			try (PreparedStatement statement = session.prepare(sql)) {
				statement.setString(1, mark.namespace());
				statement.setString(2, mark.role());
				statement.setString(3, mark.resource());
				statement.setLong(4, token);
				statement.executeUpdate();
			}
		}

		@Override
		String check(boolean withLease) {
			String newest = withLease
					? "coalesce((SELECT l.fencing_token FROM %s l WHERE l.namespace = ? AND l.role = ?), 0)"
						.formatted(tables().lease())
					: "NULL";
			return """
					SELECT m.fencing_token, %s, @@SESSION.%s
					FROM %s m WHERE m.namespace = ? AND m.role = ? AND m.resource = ? LOCK IN SHARE MODE"""
				.formatted(newest, idleVariable(), tables().resource());
		}

		@Override
		int bindCheck(PreparedStatement statement, Mark mark, boolean withLease, long idleMillis) throws SQLException {
			if (!withLease) {
				return 1;
			}
			statement.setString(1, mark.namespace());
			statement.setString(2, mark.role());
			return 3;
		}

		@Override
		boolean canSeeLease(int isolation) {
			return isolation != Connection.TRANSACTION_SERIALIZABLE;
		}

		@Override
		boolean seesNewestLease(int isolation) {
			return isolation != Connection.TRANSACTION_REPEATABLE_READ;
		}

		@Override
		boolean locksWhatIsMissing(int isolation) {
			return isolation > Connection.TRANSACTION_READ_COMMITTED;
		}

		@Override
		@Nullable String boundIdle(Connection connection, long previousSeconds, Duration idle) throws SQLException {
			long seconds = Math.max(1, idle.plusMillis(999).toSeconds());
			if (previousSeconds > 0 && previousSeconds <= seconds) {
				return null;
			}
			try (Statement statement = connection.createStatement()) {
				statement.execute("SET SESSION %s = %d".formatted(idleVariable(), seconds));
			}
			return "SET SESSION %s = %d".formatted(idleVariable(), previousSeconds);
		}

		String idleVariable() {
			return "idle_transaction_timeout";
		}

	}

	/**
	 * MySQL, which has an idle bound for connections only; inside of a transaction it
	 * does the same.
	 */
	private static final class MySql extends MariaDb {

		MySql(TableNames tables, JdbcDialect dialect) {
			super(tables, dialect);
		}

		@Override
		String idleVariable() {
			return "wait_timeout";
		}

	}

	/**
	 * H2, which has no shared locks of rows: writers of a term wait for each other. It
	 * has no idle bound either.
	 */
	private static final class H2 extends FencingDialect {

		H2(TableNames tables, JdbcDialect dialect) {
			super(tables, dialect);
		}

		@Override
		void raise(Session session, Mark mark, long token) throws SQLException {
			String sql = """
					MERGE INTO %s m USING (SELECT CAST(? AS VARCHAR) AS namespace, CAST(? AS VARCHAR) AS role,
						CAST(? AS VARCHAR) AS resource, CAST(? AS BIGINT) AS token) s
					ON m.namespace = s.namespace AND m.role = s.role AND m.resource = s.resource
					WHEN MATCHED AND m.fencing_token < s.token THEN UPDATE SET fencing_token = s.token, raised_at = %s
					WHEN NOT MATCHED THEN INSERT (namespace, role, resource, fencing_token, raised_at)
						VALUES (s.namespace, s.role, s.resource, s.token, %s)""".formatted(tables().resource(), now(),
					now());
			try (PreparedStatement statement = session.prepare(sql)) {
				statement.setString(1, mark.namespace());
				statement.setString(2, mark.role());
				statement.setString(3, mark.resource());
				statement.setLong(4, token);
				statement.executeUpdate();
			}
		}

		@Override
		String check(boolean withLease) {
			String newest = withLease
					? "coalesce((SELECT l.fencing_token FROM %s l WHERE l.namespace = ? AND l.role = ?), 0)"
						.formatted(tables().lease())
					: "CAST(NULL AS BIGINT)";
			return """
					SELECT m.fencing_token, %s, CAST(NULL AS BIGINT)
					FROM %s m WHERE m.namespace = ? AND m.role = ? AND m.resource = ? FOR UPDATE""".formatted(newest,
					tables().resource());
		}

		@Override
		int bindCheck(PreparedStatement statement, Mark mark, boolean withLease, long idleMillis) throws SQLException {
			if (!withLease) {
				return 1;
			}
			statement.setString(1, mark.namespace());
			statement.setString(2, mark.role());
			return 3;
		}

	}

}
