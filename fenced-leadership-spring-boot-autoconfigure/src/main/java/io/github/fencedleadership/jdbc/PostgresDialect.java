package io.github.fencedleadership.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGStatement;

import org.springframework.util.ClassUtils;

import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;

/**
 * PostgreSQL 13 and later: any number of requests in one statement, committed by the
 * server itself, so that a client that stops in the middle leaves nothing locked.
 * <p>
 * Why it is right, at READ COMMITTED:
 * <ul>
 * <li>All parts of the statement share one snapshot. {@code seen} picks by the snapshot
 * which rows may be changed. A row that another owner holds is not touched, so a refused
 * standby never stands in the way of the leader's renewal.</li>
 * <li>{@code locked} locks those rows in the order of the roles, skips what somebody else
 * has locked, and returns the <em>newest</em> version of each: a row that has changed
 * since the snapshot is re-read once the lock is held. The only condition on it is the
 * primary key, so a row that has ceased to be changeable is returned as well, and refused
 * with what it says now.</li>
 * <li>{@code instant} is an aggregate over {@code locked}: its clock is read after the
 * last row has been locked. Everything is decided by this one instant and by the locked
 * versions. Whatever term, renewal or release came before was therefore committed before
 * the instant was read, and none can come in between.</li>
 * <li>{@code changed} joins by key, not by the physical place of a row: where the
 * snapshot shows an older version, the update follows to the newest one. That one is
 * locked by this very statement, so it never waits and never misses. What it writes is
 * computed from the locked version.</li>
 * <li>{@code added} is the only part that may wait, for another session that is inserting
 * the same role at the same moment. All insert in the order of the roles and after having
 * locked what they lock, nobody waits for a locked row, so there is no cycle. If the
 * other one commits, nothing is inserted and the answer is 'busy'.</li>
 * <li>No part joins the results of two others, whose sizes the planner can only
 * guess.</li>
 * </ul>
 */
final class PostgresDialect extends JdbcDialect {

	private static final Log logger = LogFactory.getLog(PostgresDialect.class);

	static final String LOCK_NOT_AVAILABLE = "55P03";

	/** Where releases are told. One for all, as the payload says whose they are. */
	static final String CHANNEL = "fenced_leadership";

	/** Between the namespace and the roles of a notification. */
	static final String NAMESPACE_SEPARATOR = " ";

	static final String ROLE_SEPARATOR = ",";

	/** So that the longest names fit into a notification, which is of 8000 bytes. */
	private static final int ROLES_PER_NOTIFICATION = 64;

	/**
	 * Told when the statement commits, and not at all if it does not. Materialized and
	 * counted, as it would not be carried out otherwise.
	 */
	private static final String TELL = """
			, told AS MATERIALIZED (
				SELECT pg_notify('{channel}', n.namespace || '{namespaceSeparator}' || string_agg(n.role, '{roleSeparator}'))
				FROM (SELECT namespace, role, row_number() OVER () / {rolesPerNotification} AS part FROM changed) n
				GROUP BY n.namespace, n.part
			)
			SELECT 'TOLD', count(*)::text FROM told
			UNION ALL"""
		.replace("{channel}", CHANNEL)
		.replace("{namespaceSeparator}", NAMESPACE_SEPARATOR)
		.replace("{roleSeparator}", ROLE_SEPARATOR)
		.replace("{rolesPerNotification}", Integer.toString(ROLES_PER_NOTIFICATION));

	/** What is decided of a locked row, by the instant: whether it is to be changed. */
	private static final String GRANTED = """
			CASE WHEN k.expires_at > i.at
				THEN k.owner_id = ? AND (k.held_token IS NULL OR k.held_token = k.fencing_token)
				ELSE k.held_token IS NULL END""";

	static final boolean DRIVER_PRESENT = ClassUtils.isPresent("org.postgresql.PGStatement",
			PostgresDialect.class.getClassLoader());

	/** What the guard has accepted of a role, should the leases be behind it. */
	private static final String HIGHEST_MARK = """
			coalesce((SELECT max(m.fencing_token) FROM {resource} m
				WHERE m.namespace = {namespace} AND m.role = {role} AND m.fencing_token < 9223372036854775807), 0)""";

	private final String acquireOrRenew;

	private final String acquireOrRenewAboveMarks;

	private final String release;

	PostgresDialect(TableNames tables, @Nullable String now, boolean tellsReleases) {
		super(tables, (now != null) ? now : "clock_timestamp()");
		String template = """
				WITH seen AS MATERIALIZED (
					SELECT r.role, r.held_token, r.ttl_ms, r.token_floor, l.role IS NOT NULL AS known,
						l.owner_id, l.fencing_token, l.expires_at,
						CASE WHEN l.role IS NULL THEN FALSE
							WHEN l.owner_id = ?
								THEN r.held_token IS NULL OR (r.held_token = l.fencing_token AND l.expires_at > {now})
							ELSE r.held_token IS NULL AND l.expires_at <= {now} END AS changeable,
						?::text AS namespace
					FROM unnest(?::text[], ?::bigint[], ?::bigint[], ?::bigint[])
						AS r (role, held_token, ttl_ms, token_floor)
					LEFT JOIN {lease} l ON l.namespace = ? AND l.role = r.role
				), locked AS MATERIALIZED (
					SELECT l.role, s.held_token, s.ttl_ms, s.token_floor, l.owner_id, l.fencing_token, l.acquired_at,
						l.expires_at
					FROM seen s JOIN {lease} l ON l.namespace = ? AND l.role = s.role
					WHERE s.changeable
					ORDER BY l.role
					FOR UPDATE OF l SKIP LOCKED
				), instant AS MATERIALIZED (
					SELECT {now} AS at, count(*) AS locks FROM locked
				), changed AS (
					UPDATE {lease} l SET owner_id = ?, ttl_ms = k.ttl_ms,
						fencing_token = CASE WHEN k.expires_at > i.at THEN k.fencing_token
							ELSE greatest(k.fencing_token, k.token_floor, {markOfChanged}) + 1 END,
						acquired_at = CASE WHEN k.expires_at > i.at THEN k.acquired_at ELSE i.at END,
						renewed_at = i.at, expires_at = i.at + k.ttl_ms * interval '1 millisecond'
					FROM locked k, instant i
					WHERE l.namespace = ? AND l.role = k.role
						AND {granted}
					RETURNING l.role, l.owner_id, l.fencing_token, l.expires_at,
						CASE WHEN l.fencing_token = k.fencing_token THEN 'RENEWED' ELSE 'GRANTED' END AS outcome
				), added AS (
					INSERT INTO {lease} AS l
						(namespace, role, owner_id, fencing_token, acquired_at, renewed_at, expires_at, ttl_ms)
					SELECT s.namespace, s.role, ?, greatest(s.token_floor, {markOfAdded}) + 1, i.at, i.at,
						i.at + s.ttl_ms * interval '1 millisecond', s.ttl_ms
					FROM seen s, instant i
					WHERE NOT s.known AND s.held_token IS NULL
					ORDER BY s.role COLLATE "C"
					ON CONFLICT (namespace, role) DO NOTHING
					RETURNING l.role, l.owner_id, l.fencing_token, l.expires_at
				), answer AS (
					SELECT 'REFUSED' AS outcome, role, owner_id, fencing_token, expires_at FROM seen
					WHERE NOT changeable AND (known OR held_token IS NOT NULL)
					UNION ALL
					SELECT 'REFUSED', k.role, k.owner_id, k.fencing_token, k.expires_at FROM locked k, instant i
					WHERE NOT {granted}
					UNION ALL
					SELECT outcome, role, owner_id, fencing_token, expires_at FROM changed
					UNION ALL
					SELECT 'GRANTED', role, owner_id, fencing_token, expires_at FROM added
				)
				SELECT a.outcome, a.role, a.owner_id, a.fencing_token, {expiresAt}, {at} FROM answer a, instant i"""
			.replace("{granted}", GRANTED)
			.replace("{now}", now())
			.replace("{lease}", leaseTable())
			.replace("{expiresAt}", micros("a.expires_at"))
			.replace("{at}", micros("i.at"));
		this.acquireOrRenew = template.replace("{markOfChanged}", "0").replace("{markOfAdded}", "0");
		this.acquireOrRenewAboveMarks = template
			.replace("{markOfChanged}", HIGHEST_MARK.replace("{namespace}", "l.namespace").replace("{role}", "l.role"))
			.replace("{markOfAdded}", HIGHEST_MARK.replace("{namespace}", "s.namespace").replace("{role}", "s.role"))
			.replace("{resource}", tables.resource());
		this.release = """
				WITH seen AS MATERIALIZED (
					SELECT l.role, r.fencing_token FROM unnest(?::text[], ?::bigint[]) AS r (role, fencing_token)
					JOIN {lease} l ON l.namespace = ? AND l.role = r.role
					WHERE l.owner_id = ? AND l.fencing_token = r.fencing_token AND l.expires_at > {now}
				), locked AS MATERIALIZED (
					SELECT l.role, l.owner_id = ? AND l.fencing_token = s.fencing_token AS own, l.expires_at
					FROM seen s JOIN {lease} l ON l.namespace = ? AND l.role = s.role
					ORDER BY l.role
					FOR UPDATE OF l SKIP LOCKED
				), instant AS MATERIALIZED (
					SELECT {now} AS at, count(*) AS locks FROM locked
				), changed AS (
					UPDATE {lease} l SET expires_at = i.at FROM locked k, instant i
					WHERE l.namespace = ? AND l.role = k.role AND k.own AND k.expires_at > i.at
					RETURNING l.namespace, l.role
				){tell}
				SELECT 'SEEN', role FROM seen
				UNION ALL
				SELECT 'LOCKED', role FROM locked
				UNION ALL
				SELECT 'CHANGED', role FROM changed""".replace("{tell}", tellsReleases ? TELL : "")
			.replace("{now}", now())
			.replace("{lease}", leaseTable());
	}

	@Override
	String platform() {
		return "postgresql";
	}

	@Override
	boolean isVisible(Session session, String table) throws SQLException {
		try (PreparedStatement statement = session
			.prepare("SELECT coalesce(has_table_privilege(to_regclass(?), 'SELECT'), FALSE)")) {
			statement.setString(1, table);
			try (ResultSet row = statement.executeQuery()) {
				return row.next() && row.getBoolean(1);
			}
		}
	}

	@Override
	List<LeaseResult> tryAcquireOrRenew(Session session, String namespace, String ownerId, List<LeaseRequest> requests)
			throws SQLException {
		// A renewal keeps its token, whatever the marks are
		boolean acquisition = requests.stream().anyMatch((request) -> request.heldToken().isEmpty());
		if (!acquisition || !seesMarks(session)) {
			return tryAcquireOrRenew(session, this.acquireOrRenew, namespace, ownerId, requests);
		}
		try {
			return tryAcquireOrRenew(session, this.acquireOrRenewAboveMarks, namespace, ownerId, requests);
		}
		catch (SQLException ex) {
			if (forgetMarks(ex)) {
				return tryAcquireOrRenew(session, this.acquireOrRenew, namespace, ownerId, requests);
			}
			throw ex;
		}
	}

	private static List<LeaseResult> tryAcquireOrRenew(Session session, String sql, String namespace, String ownerId,
			List<LeaseRequest> requests) throws SQLException {
		int count = requests.size();
		String[] roles = new String[count];
		Long[] heldTokens = new Long[count];
		Long[] ttls = new Long[count];
		Long[] floors = new Long[count];
		for (int i = 0; i < count; i++) {
			LeaseRequest request = requests.get(i);
			roles[i] = request.role();
			if (request.heldToken().isPresent()) {
				heldTokens[i] = request.heldToken().getAsLong();
			}
			ttls[i] = request.ttl().toMillis();
			floors[i] = request.tokenFloor();
		}
		Map<String, LeaseResult> results = new HashMap<>();
		Connection connection = session.connection();
		try (PreparedStatement statement = session.prepare(sql)) {
			planEachTime(statement);
			int index = 1;
			statement.setString(index++, ownerId);
			statement.setString(index++, namespace);
			statement.setArray(index++, connection.createArrayOf("text", roles));
			statement.setArray(index++, connection.createArrayOf("bigint", heldTokens));
			statement.setArray(index++, connection.createArrayOf("bigint", ttls));
			statement.setArray(index++, connection.createArrayOf("bigint", floors));
			statement.setString(index++, namespace);
			statement.setString(index++, namespace);
			statement.setString(index++, ownerId);
			statement.setString(index++, namespace);
			statement.setString(index++, ownerId);
			statement.setString(index++, ownerId);
			statement.setString(index, ownerId);
			try (ResultSet row = statement.executeQuery()) {
				while (row.next()) {
					String role = row.getString(2);
					results.put(role, result(role, Outcome.valueOf(row.getString(1)), row.getString(3), row.getLong(4),
							row.getLong(5), row.getLong(6)));
				}
			}
		}
		List<LeaseResult> ordered = new ArrayList<>(count);
		for (String role : roles) {
			// To be changed by the snapshot, and neither changed nor read with a lock
			LeaseResult result = results.get(role);
			ordered.add((result != null) ? result : busy(role));
		}
		return ordered;
	}

	/**
	 * A plan that was made for a few roles of a small table and kept by the session reads
	 * the whole table for every role once there are thousands.
	 */
	private static void planEachTime(PreparedStatement statement) {
		if (DRIVER_PRESENT) {
			Driver.planEachTime(statement);
		}
	}

	@Override
	Map<String, Boolean> release(Session session, String namespace, String ownerId, Map<String, Long> tokens)
			throws SQLException {
		Set<String> locked = new HashSet<>();
		Map<String, Boolean> released = new HashMap<>();
		tokens.keySet().forEach((role) -> released.put(role, false));
		Connection connection = session.connection();
		try (PreparedStatement statement = session.prepare(this.release)) {
			planEachTime(statement);
			statement.setArray(1, connection.createArrayOf("text", tokens.keySet().toArray()));
			statement.setArray(2, connection.createArrayOf("bigint", tokens.values().toArray()));
			statement.setString(3, namespace);
			statement.setString(4, ownerId);
			statement.setString(5, ownerId);
			statement.setString(6, namespace);
			statement.setString(7, namespace);
			try (ResultSet row = statement.executeQuery()) {
				while (row.next()) {
					String role = row.getString(2);
					switch (row.getString(1)) {
						case "SEEN" -> released.remove(role);
						case "LOCKED" -> locked.add(role);
						case "CHANGED" -> released.put(role, true);
						default -> {
						}
					}
				}
			}
		}
		locked.forEach((role) -> released.putIfAbsent(role, false));
		return released;
	}

	@Override
	String micros(String instant) {
		return "(extract(epoch FROM %s) * 1000000)::bigint".formatted(instant);
	}

	@Override
	String instant(String micros) {
		return "(timestamptz '1970-01-01 00:00:00+00' + %s * interval '1 microsecond')".formatted(micros);
	}

	@Override
	String minus(String instant, String micros) {
		return "%s - %s * interval '1 microsecond'".formatted(instant, micros);
	}

	@Override
	String upsertNode() {
		return """
				INSERT INTO %s AS n (namespace, node_id, host, pid, version, started_at, last_heartbeat)
				VALUES (?, ?, ?, ?, ?, %s, %s)
				ON CONFLICT (namespace, node_id) DO UPDATE SET host = excluded.host, pid = excluded.pid,
					version = excluded.version, started_at = excluded.started_at,
					last_heartbeat = %s""".formatted(nodeTable(), instant("?"), now(), now());
	}

	/** Loaded only if the driver is there. */
	private static final class Driver {

		private Driver() {
		}

		static void planEachTime(PreparedStatement statement) {
			try {
				if (statement.isWrapperFor(PGStatement.class)) {
					statement.unwrap(PGStatement.class).setPrepareThreshold(0);
				}
			}
			catch (SQLException | RuntimeException ex) {
				// Whatever stands in front of the driver: it is slower, and no reason not
				// to lead.
				logger.trace("The driver's statement is not to be had", ex);
			}
		}

	}

}
