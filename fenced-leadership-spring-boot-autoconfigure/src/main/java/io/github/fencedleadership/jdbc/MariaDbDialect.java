package io.github.fencedleadership.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

/**
 * MariaDB 10.6 and later.
 * <p>
 * See {@link TransactionalDialect} for why it is right; what InnoDB adds:
 * <ul>
 * <li>A locking read returns the newest committed version of a row. Rows are found by
 * their primary key, one by one and in the order of the roles ({@code STRAIGHT_JOIN} from
 * the sorted list), so no others are locked on the way. At READ COMMITTED there are no
 * gap locks, and a row that does not match is unlocked at once.</li>
 * <li>{@code UTC_TIMESTAMP(6)} is the instant at which the statement began.</li>
 * <li>{@code INSERT ... ON DUPLICATE KEY UPDATE} takes the lock that it needs at once.
 * {@code INSERT IGNORE} would take a shared one first, which is how such statements
 * deadlock.</li>
 * <li>A client that stops between lock and commit would hold its locks until its
 * connection ends. So the server is told to end a transaction that is idle for longer
 * than the store would wait for an answer.</li>
 * </ul>
 */
class MariaDbDialect extends TransactionalDialect {

	private static final String EPOCH = "TIMESTAMP'1970-01-01 00:00:00.000000'";

	private static final String ROLES = "JSON_TABLE(?, '$[*]' COLUMNS (role VARCHAR(100) PATH '$')) r";

	/** The stored names are ASCII, and have to be compared as such to be found by key. */
	private static final String ROLE = "CONVERT(r.role USING ascii) COLLATE ascii_bin";

	private final long idleSeconds;

	private final Map<Connection, Boolean> bounded = Collections.synchronizedMap(new WeakHashMap<>());

	MariaDbDialect(TableNames tables, @Nullable String now, Duration queryTimeout) {
		super(tables, (now != null) ? now : "UTC_TIMESTAMP(6)");
		this.idleSeconds = Math.max(queryTimeout.plusMillis(999).toSeconds(), 1);
	}

	final long idleSeconds() {
		return this.idleSeconds;
	}

	@Override
	String platform() {
		return "mariadb";
	}

	@Override
	final String findTable() {
		return """
				SELECT count(*) FROM information_schema.tables
				WHERE table_schema = coalesce(?, DATABASE()) AND table_name = ?""";
	}

	@Override
	String readLeases() {
		return "SELECT STRAIGHT_JOIN l.role, l.owner_id, l.fencing_token, %s, %s, %s FROM %s JOIN %s l ON l.namespace = ? AND l.role = %s"
			.formatted(micros("l.acquired_at"), micros("l.expires_at"), micros(now()), ROLES, leaseTable(), ROLE);
	}

	@Override
	String lockLeases() {
		return readLeases() + " WHERE l.owner_id = ? OR l.expires_at <= " + now() + " " + lockClause();
	}

	String lockClause() {
		return "FOR UPDATE SKIP LOCKED";
	}

	@Override
	String endLeases() {
		return "UPDATE %s STRAIGHT_JOIN %s l ON l.namespace = ? AND l.role = %s SET l.expires_at = %s".formatted(ROLES,
				leaseTable(), ROLE, now());
	}

	@Override
	String readMarks() {
		return "SELECT STRAIGHT_JOIN m.role, max(m.fencing_token) FROM %s JOIN %s m ON m.namespace = ? AND m.role = %s WHERE m.fencing_token < %d GROUP BY m.role"
			.formatted(ROLES, tables().resource(), ROLE, Long.MAX_VALUE);
	}

	@Override
	void bindRoles(Session session, PreparedStatement statement, int index, Collection<String> roles)
			throws SQLException {
		statement.setString(index, toJson(roles));
	}

	/**
	 * The names have no character that JSON would want escaped.
	 */
	private static String toJson(Collection<String> roles) {
		return roles.stream().collect(Collectors.joining("\",\"", "[\"", "\"]"));
	}

	@Override
	void addFree(Session session, String namespace, Collection<String> roles) throws SQLException {
		String sql = """
				INSERT INTO %s (namespace, role, owner_id, fencing_token, acquired_at, renewed_at, expires_at)
				SELECT ?, %s, '', 0, t.now, t.now, t.now
				FROM %s CROSS JOIN (SELECT %s AS now) t ORDER BY r.role
				ON DUPLICATE KEY UPDATE fencing_token = fencing_token""".formatted(leaseTable(), ROLE, ROLES, now());
		try (PreparedStatement statement = session.prepare(sql)) {
			statement.setString(1, namespace);
			statement.setString(2, toJson(roles));
			statement.executeUpdate();
		}
	}

	@Override
	void write(Session session, String namespace, String ownerId, List<Change> changes) throws SQLException {
		String sql = """
				UPDATE JSON_TABLE(?, '$[*]' COLUMNS (role VARCHAR(100) PATH '$[0]', token BIGINT PATH '$[1]',
					acquired_at BIGINT PATH '$[2]', renewed_at BIGINT PATH '$[3]', expires_at BIGINT PATH '$[4]',
					ttl_ms BIGINT PATH '$[5]')) r
				STRAIGHT_JOIN %s l ON l.namespace = ? AND l.role = %s
				SET l.owner_id = ?, l.fencing_token = r.token, l.acquired_at = %s, l.renewed_at = %s,
					l.expires_at = %s, l.ttl_ms = r.ttl_ms""".formatted(leaseTable(), ROLE, instant("r.acquired_at"),
				instant("r.renewed_at"), instant("r.expires_at"));
		try (PreparedStatement statement = session.prepare(sql)) {
			statement.setString(1,
					changes.stream()
						.map((change) -> "[\"%s\",%d,%d,%d,%d,%d]".formatted(change.role(), change.token(),
								change.acquiredAt(), change.renewedAt(), change.expiresAt(), change.ttlMillis()))
						.collect(Collectors.joining(",", "[", "]")));
			statement.setString(2, namespace);
			statement.setString(3, ownerId);
			statement.executeUpdate();
		}
	}

	@Override
	void boundIdleTransactions(Session session) throws SQLException {
		if (session.isOwned()) {
			if (this.bounded.putIfAbsent(session.physical(), true) == null) {
				session.execute("SET SESSION idle_transaction_timeout = " + this.idleSeconds);
			}
			return;
		}
		long previous = session.queryForLong("SELECT @@SESSION.idle_transaction_timeout");
		if (previous == 0 || previous > this.idleSeconds) {
			session.execute("SET SESSION idle_transaction_timeout = " + this.idleSeconds);
			session.onEnd(() -> session.execute("SET SESSION idle_transaction_timeout = " + previous));
		}
	}

	@Override
	String micros(String instant) {
		return "TIMESTAMPDIFF(MICROSECOND, %s, %s)".formatted(EPOCH, instant);
	}

	@Override
	String instant(String micros) {
		return "(%s + INTERVAL %s MICROSECOND)".formatted(EPOCH, micros);
	}

	@Override
	String minus(String instant, String micros) {
		return "%s - INTERVAL %s MICROSECOND".formatted(instant, micros);
	}

	@Override
	String upsertNode() {
		return """
				INSERT INTO %s (namespace, node_id, host, pid, version, started_at, last_heartbeat)
				VALUES (?, ?, ?, ?, ?, %s, %s)
				ON DUPLICATE KEY UPDATE host = VALUES(host), pid = VALUES(pid), version = VALUES(version),
					started_at = VALUES(started_at), last_heartbeat = VALUES(last_heartbeat)""".formatted(nodeTable(),
				instant("?"), now());
	}

}
