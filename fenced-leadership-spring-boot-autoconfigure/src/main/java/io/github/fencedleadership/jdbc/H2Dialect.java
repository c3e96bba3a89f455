package io.github.fencedleadership.jdbc;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Collection;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * H2 2.2.220 and later.
 * <p>
 * See {@link TransactionalDialect} for why it is right. Depending on its mode, H2 reads
 * the clock once per statement or once per transaction; the locking read is the first
 * statement of its transaction, so it makes no difference. Two sessions that add the same
 * row may fail with a duplicate key, which is tried again like a serialization failure.
 */
final class H2Dialect extends TransactionalDialect {

	private static final String EPOCH = "TIMESTAMP WITH TIME ZONE '1970-01-01 00:00:00+00'";

	H2Dialect(TableNames tables, @Nullable String now) {
		super(tables, (now != null) ? now : "CURRENT_TIMESTAMP(6)");
	}

	@Override
	String platform() {
		return "h2";
	}

	@Override
	String findTable() {
		return """
				SELECT count(*) FROM information_schema.tables
				WHERE upper(table_schema) = upper(coalesce(CAST(? AS VARCHAR), SCHEMA())) AND upper(table_name) = upper(?)""";
	}

	@Override
	String readLeases() {
		return "SELECT l.role, l.owner_id, l.fencing_token, %s, %s, %s FROM %s l WHERE l.role = ANY(?) AND l.namespace = ?"
			.formatted(micros("l.acquired_at"), micros("l.expires_at"), micros(now()), leaseTable());
	}

	@Override
	String lockLeases() {
		return readLeases() + " AND (l.owner_id = ? OR l.expires_at <= " + now()
				+ ") ORDER BY l.role FOR UPDATE SKIP LOCKED";
	}

	@Override
	String endLeases() {
		return "UPDATE %s l SET expires_at = %s WHERE l.role = ANY(?) AND l.namespace = ?".formatted(leaseTable(),
				now());
	}

	@Override
	String readMarks() {
		return "SELECT m.role, max(m.fencing_token) FROM %s m WHERE m.role = ANY(?) AND m.namespace = ? AND m.fencing_token < %d GROUP BY m.role"
			.formatted(tables().resource(), Long.MAX_VALUE);
	}

	@Override
	void bindRoles(Session session, PreparedStatement statement, int index, Collection<String> roles)
			throws SQLException {
		statement.setArray(index, session.connection().createArrayOf("VARCHAR", roles.toArray()));
	}

	@Override
	void addFree(Session session, String namespace, Collection<String> roles) throws SQLException {
		String sql = """
				MERGE INTO %s l USING (SELECT CAST(? AS VARCHAR) AS namespace, CAST(? AS VARCHAR) AS role, %s AS now) s
				ON l.namespace = s.namespace AND l.role = s.role
				WHEN NOT MATCHED THEN INSERT
					(namespace, role, owner_id, fencing_token, acquired_at, renewed_at, expires_at)
					VALUES (s.namespace, s.role, '', 0, s.now, s.now, s.now)""".formatted(leaseTable(), now());
		try (PreparedStatement statement = session.prepare(sql)) {
			for (String role : roles) {
				statement.setString(1, namespace);
				statement.setString(2, role);
				statement.addBatch();
			}
			statement.executeBatch();
		}
	}

	@Override
	void write(Session session, String namespace, String ownerId, List<Change> changes) throws SQLException {
		String sql = """
				UPDATE %s SET owner_id = ?, fencing_token = ?, acquired_at = %s, renewed_at = %s, expires_at = %s,
					ttl_ms = ?
				WHERE namespace = ? AND role = ?""".formatted(leaseTable(), instant("?"), instant("?"), instant("?"));
		try (PreparedStatement statement = session.prepare(sql)) {
			for (Change change : changes) {
				statement.setString(1, ownerId);
				statement.setLong(2, change.token());
				statement.setLong(3, change.acquiredAt());
				statement.setLong(4, change.renewedAt());
				statement.setLong(5, change.expiresAt());
				statement.setLong(6, change.ttlMillis());
				statement.setString(7, namespace);
				statement.setString(8, change.role());
				statement.addBatch();
			}
			statement.executeBatch();
		}
	}

	@Override
	String micros(String instant) {
		return "CAST(EXTRACT(EPOCH FROM %s) * 1000000 AS BIGINT)".formatted(instant);
	}

	@Override
	String instant(String micros) {
		return "DATEADD('MICROSECOND', %s, %s)".formatted(micros, EPOCH);
	}

	@Override
	String minus(String instant, String micros) {
		return "DATEADD('MICROSECOND', -(%s), %s)".formatted(micros, instant);
	}

	@Override
	String upsertNode() {
		return """
				MERGE INTO %s (namespace, node_id, host, pid, version, started_at, last_heartbeat)
				KEY (namespace, node_id) VALUES (?, ?, ?, ?, ?, %s, %s)""".formatted(nodeTable(), instant("?"), now());
	}

}
