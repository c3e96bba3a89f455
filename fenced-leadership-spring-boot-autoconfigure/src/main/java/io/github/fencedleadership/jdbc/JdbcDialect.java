package io.github.fencedleadership.jdbc;

import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;
import io.github.fencedleadership.membership.Node;

/**
 * How one database is spoken to.
 * <p>
 * Instants leave SQL as microseconds since the epoch and enter it as such or as
 * durations, so that no driver, session or JVM can have an opinion on time zones.
 */
abstract class JdbcDialect {

	private final TableNames tables;

	private final String now;

	private volatile @Nullable Boolean marksVisible;

	JdbcDialect(TableNames tables, String now) {
		this.tables = tables;
		this.now = now;
	}

	static JdbcDialect of(DatabaseMetaData metaData, TableNames tables, @Nullable String now, Duration queryTimeout,
			boolean tellsReleases) throws SQLException {
		String product = String.valueOf(metaData.getDatabaseProductName());
		String version = String.valueOf(metaData.getDatabaseProductVersion());
		int major = metaData.getDatabaseMajorVersion();
		int minor = metaData.getDatabaseMinorVersion();
		String name = product.toLowerCase(Locale.ROOT);
		// MySQL's driver calls MariaDB 'MySQL'
		boolean mariaDb = name.contains("mariadb") || version.toLowerCase(Locale.ROOT).contains("mariadb");
		if (name.contains("postgresql") && major >= 13) {
			return new PostgresDialect(tables, now, tellsReleases);
		}
		// It may also prefix the version with the one that replication used to need
		if (mariaDb && (major > 10 || (major == 10 && minor >= 6) || version.startsWith("5.5.5-"))) {
			return new MariaDbDialect(tables, now, queryTimeout);
		}
		if (name.contains("mysql") && !mariaDb && major >= 8) {
			return new MySqlDialect(tables, now, queryTimeout);
		}
		if (name.equals("h2") && major >= 2) {
			return new H2Dialect(tables, now);
		}
		throw new UnsupportedDatabaseException(product, version);
	}

	final String leaseTable() {
		return this.tables.lease();
	}

	final String nodeTable() {
		return this.tables.node();
	}

	final TableNames tables() {
		return this.tables;
	}

	/**
	 * Return whether the guard's marks are in this database, so that a grant can be above
	 * them. Asked once, by a statement that does not fail if they are not.
	 */
	final boolean seesMarks(Session session) throws SQLException {
		Boolean known = this.marksVisible;
		if (known == null) {
			known = isVisible(session, this.tables.resource());
			this.marksVisible = known;
		}
		return known;
	}

	/**
	 * Grant without a look at the marks from now on if that is what a failure is about.
	 * @return whether it is, so that it can be tried again
	 */
	final boolean forgetMarks(SQLException ex) {
		if (!Boolean.TRUE.equals(this.marksVisible)
				|| !JdbcDatabase.MISSING_TABLE_STATES.contains(String.valueOf(ex.getSQLState()))) {
			return false;
		}
		this.marksVisible = false;
		return true;
	}

	/**
	 * Return whether a table exists and may be seen, without a statement that fails if it
	 * does not.
	 */
	abstract boolean isVisible(Session session, String table) throws SQLException;

	abstract String platform();

	/**
	 * Return the expression of the current instant.
	 * @return the expression
	 */
	final String now() {
		return this.now;
	}

	/**
	 * Return an expression of microseconds since the epoch.
	 * @param instant an expression of an instant
	 * @return the expression, of type BIGINT
	 */
	abstract String micros(String instant);

	/**
	 * Return an expression of an instant.
	 * @param micros an expression of microseconds since the epoch
	 * @return the expression
	 */
	abstract String instant(String micros);

	abstract String minus(String instant, String micros);

	abstract String upsertNode();

	abstract List<LeaseResult> tryAcquireOrRenew(Session session, String namespace, String ownerId,
			List<LeaseRequest> requests) throws SQLException;

	/**
	 * End terms.
	 * @param tokens the tokens of the terms by role, sorted
	 * @return whether a term was ended, by role; without those that are locked
	 */
	abstract Map<String, Boolean> release(Session session, String namespace, String ownerId, Map<String, Long> tokens)
			throws SQLException;

	List<Lease> findLeases(Session session, String namespace, @Nullable String role) throws SQLException {
		String sql = """
				SELECT role, owner_id, fencing_token, %s, %s, %s, %s
				FROM %s WHERE namespace = ? AND fencing_token > 0%s ORDER BY role""".formatted(micros("acquired_at"),
				micros("renewed_at"), micros("expires_at"), micros(now()), leaseTable(),
				(role != null) ? " AND role = ?" : "");
		List<Lease> leases = new ArrayList<>();
		try (PreparedStatement statement = session.prepare(sql)) {
			statement.setString(1, namespace);
			if (role != null) {
				statement.setString(2, role);
			}
			try (ResultSet row = statement.executeQuery()) {
				while (row.next()) {
					Instant expiresAt = toInstant(row.getLong(6));
					leases.add(new Lease(row.getString(1), row.getString(2), row.getLong(3), toInstant(row.getLong(4)),
							toInstant(row.getLong(5)), expiresAt, remaining(row.getLong(6), row.getLong(7))));
				}
			}
		}
		return leases;
	}

	void heartbeat(Session session, String namespace, Node node) throws SQLException {
		try (PreparedStatement statement = session.prepare(upsertNode())) {
			statement.setString(1, namespace);
			statement.setString(2, node.id());
			statement.setString(3, node.host());
			statement.setLong(4, node.pid());
			statement.setString(5, node.version());
			statement.setLong(6, toMicros(node.startedAt()));
			statement.executeUpdate();
		}
	}

	List<Node> liveNodes(Session session, String namespace, Duration livenessTtl) throws SQLException {
		String sql = """
				SELECT node_id, host, pid, version, %s, %s
				FROM %s WHERE namespace = ? AND last_heartbeat > %s""".formatted(micros("started_at"),
				micros("last_heartbeat"), nodeTable(), minus(now(), "?"));
		List<Node> nodes = new ArrayList<>();
		try (PreparedStatement statement = session.prepare(sql)) {
			statement.setString(1, namespace);
			statement.setLong(2, toMicros(livenessTtl));
			try (ResultSet row = statement.executeQuery()) {
				while (row.next()) {
					nodes.add(new Node(row.getString(1), row.getString(2), row.getLong(3), row.getString(4),
							toInstant(row.getLong(5)), toInstant(row.getLong(6))));
				}
			}
		}
		return nodes;
	}

	void deregister(Session session, String namespace, String nodeId) throws SQLException {
		String sql = "DELETE FROM %s WHERE namespace = ? AND node_id = ?".formatted(nodeTable());
		try (PreparedStatement statement = session.prepare(sql)) {
			statement.setString(1, namespace);
			statement.setString(2, nodeId);
			statement.executeUpdate();
		}
	}

	void deleteSilentNodes(Session session, String namespace, Duration retention) throws SQLException {
		String sql = "DELETE FROM %s WHERE namespace = ? AND last_heartbeat < %s".formatted(nodeTable(),
				minus(now(), "?"));
		try (PreparedStatement statement = session.prepare(sql)) {
			statement.setString(1, namespace);
			statement.setLong(2, toMicros(retention));
			statement.executeUpdate();
		}
	}

	static LeaseResult result(String role, Outcome outcome, @Nullable String ownerId, long token, long expiresAt,
			long now) {
		return (ownerId != null && token > 0)
				? new LeaseResult(role, outcome, token, ownerId, toInstant(expiresAt), remaining(expiresAt, now))
				: new LeaseResult(role, outcome, 0, null, null, Duration.ZERO);
	}

	static LeaseResult busy(String role) {
		return new LeaseResult(role, Outcome.BUSY, 0, null, null, Duration.ZERO);
	}

	static Duration remaining(long expiresAt, long now) {
		return Duration.of(Math.max(expiresAt - now, 0), ChronoUnit.MICROS);
	}

	static Instant toInstant(long micros) {
		return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
	}

	static long toMicros(Instant instant) {
		return ChronoUnit.MICROS.between(Instant.EPOCH, instant);
	}

	static long toMicros(Duration duration) {
		return duration.toNanos() / 1000;
	}

}
