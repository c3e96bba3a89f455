package io.github.fencedleadership.jdbc;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.dao.CannotAcquireLockException;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.dao.TransientDataAccessResourceException;
import org.springframework.jdbc.UncategorizedSQLException;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.jdbc.support.SQLExceptionSubclassTranslator;
import org.springframework.jdbc.support.SQLExceptionTranslator;

import io.github.fencedleadership.jdbc.OwnPool.PoolHandle;

/**
 * The database that leases and nodes are kept in, and how it is spoken to.
 * <p>
 * At most two connections are in use at any time, and a third that listens if there are
 * {@link JdbcReleaseNotifications}. If the DataSource is a Hikari pool they come from a
 * pool of this object's own, made of a copy of the configuration, so that an application
 * that has exhausted its pool still renews its leases. Otherwise they come from the
 * DataSource itself, and none listens.
 * <p>
 * Every call is bounded by the connection timeout plus the query timeout. It joins no
 * transaction of its caller and runs at READ COMMITTED, whatever the defaults of the pool
 * are; what is changed on a pooled connection for that is changed back. Serialization
 * failures, deadlocks and lock timeouts are tried again inside the bound.
 * <p>
 * Which database it is, is found out at the first use that reaches it. Thread-safe.
 */
public final class JdbcDatabase implements AutoCloseable {

	/**
	 * The prefix of the tables' names if none is given.
	 */
	public static final String DEFAULT_TABLE_PREFIX = "fenced_";

	private static final Log logger = LogFactory.getLog(JdbcDatabase.class);

	private static final int MAX_ATTEMPTS = 5;

	private static final Set<String> RETRYABLE_STATES = Set.of("40001", "40P01");

	/** MySQL and MariaDB: deadlock, lock wait timeout, changed since the snapshot. */
	private static final Set<Integer> RETRYABLE_MYSQL_CODES = Set.of(1213, 1205, 1020);

	/**
	 * H2: lock timeout, concurrent update; and two sessions that create the same row,
	 * which the other databases have a statement for.
	 */
	private static final Set<Integer> RETRYABLE_H2_CODES = Set.of(50200, 90131, 23505);

	/** PostgreSQL, and what this package says itself when the time is over. */
	private static final String STATEMENT_TIMEOUT_STATE = "57014";

	/** MariaDB; MySQL. */
	private static final Set<Integer> STATEMENT_TIMEOUT_MYSQL_CODES = Set.of(1969, 3024);

	/** PostgreSQL; MariaDB, MySQL; H2 (two of them). */
	static final Set<String> MISSING_TABLE_STATES = Set.of("42P01", "42S02", "42S03", "42S04", "3F000", "90079");

	private final SQLExceptionTranslator translator = new SQLExceptionSubclassTranslator();

	private final TableNames tables;

	private final Duration connectionTimeout;

	private final Duration queryTimeout;

	private final @Nullable String nowExpression;

	private final @Nullable PoolHandle ownPool;

	private final boolean tellsReleases;

	private final Connections connections;

	private volatile @Nullable JdbcDialect dialect;

	private JdbcDatabase(Builder builder) {
		this.tables = TableNames.of(builder.schema, builder.tablePrefix);
		this.connectionTimeout = builder.connectionTimeout;
		this.queryTimeout = builder.queryTimeout;
		this.nowExpression = builder.nowExpression;
		this.tellsReleases = builder.tellsReleases;
		DataSource dataSource = withoutTransactions(builder.dataSource);
		this.ownPool = builder.ownPool ? OwnPool.copyOf(dataSource, builder.connectionTimeout) : null;
		this.connections = new Connections((this.ownPool != null) ? this.ownPool.dataSource() : dataSource,
				builder.askOnCallersThread && this.ownPool == null);
	}

	/**
	 * Look through the wrappers down to below the last one that would hand out the
	 * connection of the caller's transaction.
	 */
	private static DataSource withoutTransactions(DataSource dataSource) {
		DataSource result = dataSource;
		DataSource current = dataSource;
		while (current instanceof DelegatingDataSource delegating) {
			DataSource target = delegating.getTargetDataSource();
			if (target == null) {
				break;
			}
			if (current instanceof TransactionAwareDataSourceProxy) {
				result = target;
			}
			current = target;
		}
		return result;
	}

	/**
	 * Return whether it may depend on the caller which database a DataSource leads to.
	 * @param dataSource the DataSource
	 * @return {@code true} if there is an {@link AbstractRoutingDataSource} in it
	 */
	public static boolean isRouted(DataSource dataSource) {
		if (dataSource instanceof DelegatingDataSource delegating) {
			DataSource target = delegating.getTargetDataSource();
			return target != null && isRouted(target);
		}
		return dataSource instanceof AbstractRoutingDataSource;
	}

	/**
	 * Begin to describe a database.
	 * @param dataSource where connections come from
	 * @return a builder
	 */
	public static Builder builder(DataSource dataSource) {
		return new Builder(dataSource);
	}

	/**
	 * Return for how long a call waits for a connection.
	 * @return the bound
	 */
	public Duration getConnectionTimeout() {
		return this.connectionTimeout;
	}

	/**
	 * Return for how long a call waits for the database's answers once it has a
	 * connection.
	 * @return the bound
	 */
	public Duration getQueryTimeout() {
		return this.queryTimeout;
	}

	/**
	 * Return the name of the table of leases.
	 * @return the name, qualified if a schema was given
	 */
	public String getLeaseTable() {
		return this.tables.lease();
	}

	/**
	 * Return the name of the table of nodes.
	 * @return the name, qualified if a schema was given
	 */
	public String getNodeTable() {
		return this.tables.node();
	}

	/**
	 * Return the name of the table of the guard's marks.
	 * @return the name, qualified if a schema was given
	 */
	public String getResourceTable() {
		return this.tables.resource();
	}

	TableNames tables() {
		return this.tables;
	}

	/**
	 * Return whether a table can be read.
	 * @param table the name of the table
	 * @return {@code false} if the database says that there is no such table
	 * @throws DataAccessException if the database does not answer in time
	 * @throws UnsupportedDatabaseException if it is not a database that is supported
	 */
	public boolean hasTable(String table) {
		return call("look for table '%s'".formatted(table), (session, dialect) -> {
			try (PreparedStatement statement = session.prepare("SELECT 1 FROM " + table + " WHERE 1 = 0")) {
				statement.executeQuery().close();
				return true;
			}
			catch (SQLException ex) {
				if (MISSING_TABLE_STATES.contains(String.valueOf(ex.getSQLState()))) {
					return false;
				}
				throw ex;
			}
		});
	}

	/**
	 * Return the name of the platform, as in the names of the schema scripts.
	 * @return one of {@code h2}, {@code mariadb}, {@code mysql}, {@code postgresql}
	 * @throws DataAccessException if the database does not answer in time
	 * @throws UnsupportedDatabaseException if it is not a database that is supported
	 */
	public String getPlatform() {
		return call("ask for the platform", (session, dialect) -> dialect.platform());
	}

	/**
	 * Return the URL that the database was reached at.
	 * @return the URL, {@code null} if the driver does not tell
	 * @throws DataAccessException if the database does not answer in time
	 */
	public @Nullable String getUrl() {
		return this.<@Nullable String>call("ask for the URL",
				(session, dialect) -> session.connection().getMetaData().getURL());
	}

	/**
	 * Return whether releases by other nodes can be heard of, as far as that is known
	 * without the database.
	 * @return {@code true} if they are told, the driver of PostgreSQL is there, and there
	 * is a pool of one's own to take a connection from for good
	 */
	public boolean isTold() {
		return this.tellsReleases && this.ownPool != null && PostgresDialect.DRIVER_PRESENT;
	}

	/**
	 * Return a connection that may be kept for good.
	 * @return the connection, to be closed by the caller
	 * @throws SQLException if there is none within the connection timeout
	 */
	Connection listeningConnection() throws SQLException {
		return Objects.requireNonNull(this.ownPool).dataSource().getConnection();
	}

	<T extends @Nullable Object> T call(String task, Call<T> call) {
		long deadline = System.nanoTime() + this.connectionTimeout.toNanos() + this.queryTimeout.toNanos();
		for (int attempt = 1;; attempt++) {
			try {
				return attempt(call, deadline);
			}
			catch (SQLException ex) {
				if (attempt == MAX_ATTEMPTS || !isRetryable(ex) || !pause(attempt, deadline)) {
					throw translate(task, ex);
				}
				logger.trace("Trying again to " + task, ex);
			}
		}
	}

	private <T extends @Nullable Object> T attempt(Call<T> call, long deadline) throws SQLException {
		Connection connection = this.connections.get(min(this.connectionTimeout, deadline));
		try {
			Session session = Session.begin(connection, this.ownPool != null, min(this.queryTimeout, deadline));
			try {
				return call.run(session, dialect(session));
			}
			finally {
				session.end();
			}
		}
		finally {
			this.connections.giveBack(connection);
		}
	}

	private static Duration min(Duration bound, long deadline) {
		long remaining = deadline - System.nanoTime();
		return (remaining < bound.toNanos()) ? Duration.ofNanos(Math.max(remaining, 0)) : bound;
	}

	private JdbcDialect dialect(Session session) throws SQLException {
		JdbcDialect known = this.dialect;
		if (known == null) {
			DatabaseMetaData metaData = session.connection().getMetaData();
			known = JdbcDialect.of(metaData, this.tables, this.nowExpression, this.queryTimeout, this.tellsReleases);
			this.dialect = known;
		}
		return known;
	}

	private boolean isRetryable(SQLException ex) {
		for (Throwable cause = ex; cause != null; cause = cause.getCause()) {
			if (cause instanceof SQLException sqlException
					&& isRetryable(sqlException.getSQLState(), sqlException.getErrorCode())) {
				return true;
			}
		}
		return false;
	}

	private boolean isRetryable(@Nullable String state, int code) {
		JdbcDialect known = this.dialect;
		if (state != null && RETRYABLE_STATES.contains(state)) {
			return true;
		}
		return (known instanceof H2Dialect) ? RETRYABLE_H2_CODES.contains(code)
				: known instanceof MariaDbDialect && RETRYABLE_MYSQL_CODES.contains(code);
	}

	private static boolean pause(int attempt, long deadline) {
		long pause = TimeUnit.MILLISECONDS.toNanos(ThreadLocalRandom.current().nextLong(1, 10L * attempt));
		if (System.nanoTime() + pause >= deadline) {
			return false;
		}
		try {
			TimeUnit.NANOSECONDS.sleep(pause);
			return true;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return false;
		}
	}

	DataAccessException translate(String task, SQLException ex) {
		String description = "Failed to " + task;
		String state = ex.getSQLState();
		if (ex instanceof SQLTransientConnectionException) {
			return new TransientDataAccessResourceException(description + ": " + ex.getMessage(), ex);
		}
		if (state != null && state.startsWith("08")) {
			return new DataAccessResourceFailureException(description + ": " + ex.getMessage(), ex);
		}
		if (STATEMENT_TIMEOUT_STATE.equals(state) || (this.dialect instanceof MariaDbDialect
				&& STATEMENT_TIMEOUT_MYSQL_CODES.contains(ex.getErrorCode()))) {
			return new QueryTimeoutException(description + ": " + ex.getMessage(), ex);
		}
		if (PostgresDialect.LOCK_NOT_AVAILABLE.equals(state) || isRetryable(ex)) {
			return new CannotAcquireLockException(description + ": " + ex.getMessage(), ex);
		}
		DataAccessException translated = this.translator.translate(description, null, ex);
		return (translated != null) ? translated : new UncategorizedSQLException(description, null, ex);
	}

	/**
	 * Close the pool of one's own, if there is one. The DataSource stays open.
	 */
	@Override
	public void close() {
		this.connections.close();
		if (this.ownPool != null) {
			this.ownPool.close().run();
		}
	}

	/**
	 * Statements that are run with a connection.
	 *
	 * @param <T> the type of the result
	 */
	interface Call<T extends @Nullable Object> {

		T run(Session session, JdbcDialect dialect) throws SQLException;

	}

	/**
	 * Describes a {@link JdbcDatabase}.
	 */
	public static final class Builder {

		private final DataSource dataSource;

		private @Nullable String schema;

		private String tablePrefix = DEFAULT_TABLE_PREFIX;

		private Duration connectionTimeout = Duration.ofMillis(2500);

		private Duration queryTimeout = Duration.ofMillis(2500);

		private boolean ownPool = true;

		private boolean askOnCallersThread;

		private boolean tellsReleases = true;

		private @Nullable String nowExpression;

		private Builder(DataSource dataSource) {
			this.dataSource = Objects.requireNonNull(dataSource, "'dataSource' must not be null");
		}

		/**
		 * Set the schema of the tables (on MariaDB and MySQL: the database).
		 * @param schema the schema, {@code null} for the connection's own
		 * @return this builder
		 * @throws IllegalArgumentException if it is no plain identifier
		 */
		public Builder schema(@Nullable String schema) {
			this.schema = (schema != null) ? TableNames.requireSchema(schema) : null;
			return this;
		}

		/**
		 * Set the prefix of the tables' names.
		 * @param tablePrefix the prefix, by default {@value #DEFAULT_TABLE_PREFIX}
		 * @return this builder
		 * @throws IllegalArgumentException if it is no plain identifier
		 */
		public Builder tablePrefix(String tablePrefix) {
			this.tablePrefix = TableNames.requirePrefix(tablePrefix);
			return this;
		}

		/**
		 * Set for how long a call waits for a connection.
		 * @param connectionTimeout the bound, by default 2.5 seconds
		 * @return this builder
		 */
		public Builder connectionTimeout(Duration connectionTimeout) {
			this.connectionTimeout = requirePositive(connectionTimeout, "Connection timeout");
			return this;
		}

		/**
		 * Set for how long a call waits for the database's answers once it has a
		 * connection.
		 * @param queryTimeout the bound, by default 2.5 seconds
		 * @return this builder
		 */
		public Builder queryTimeout(Duration queryTimeout) {
			this.queryTimeout = requirePositive(queryTimeout, "Query timeout");
			return this;
		}

		/**
		 * Set whether to make a pool of one's own out of a Hikari pool.
		 * @param ownPool whether to, by default {@code true}
		 * @return this builder
		 */
		public Builder ownPool(boolean ownPool) {
			this.ownPool = ownPool;
			return this;
		}

		/**
		 * Set whether the DataSource is asked for connections on the thread of the
		 * caller, because it depends on the thread which database it leads to. It may
		 * then keep the caller waiting for longer than the connection timeout. Of no
		 * effect if there is a pool of one's own.
		 * @param askOnCallersThread whether to, by default {@code false}
		 * @return this builder
		 */
		public Builder askOnCallersThread(boolean askOnCallersThread) {
			this.askOnCallersThread = askOnCallersThread;
			return this;
		}

		/**
		 * Set whether a release is told to the other nodes where the database can, see
		 * {@link JdbcReleaseNotifications}.
		 * @param tellsReleases whether to, by default {@code true}
		 * @return this builder
		 */
		public Builder tellsReleases(boolean tellsReleases) {
			this.tellsReleases = tellsReleases;
			return this;
		}

		/**
		 * Replace the database's clock.
		 * @param nowExpression an expression of SQL
		 * @return this builder
		 */
		Builder nowExpression(String nowExpression) {
			this.nowExpression = nowExpression;
			return this;
		}

		/**
		 * Build the database. It is not connected to yet.
		 * @return the database
		 */
		public JdbcDatabase build() {
			return new JdbcDatabase(this);
		}

		private static Duration requirePositive(Duration value, String what) {
			if (value.isNegative() || value.isZero()) {
				throw new IllegalArgumentException("%s '%s' must be positive".formatted(what, value));
			}
			return value;
		}

	}

}
