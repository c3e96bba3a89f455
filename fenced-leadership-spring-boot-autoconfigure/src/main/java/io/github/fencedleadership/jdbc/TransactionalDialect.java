package io.github.fencedleadership.jdbc;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;

/**
 * A database that cannot do it all in one statement: at most one short transaction, whose
 * statements do not grow in number with the requests.
 * <ol>
 * <li>One plain read of the roles to acquire, if there are any. Standbys with nothing to
 * take stop here and have locked nothing.</li>
 * <li>Rows that are missing are added, free and with token 0, by one statement that
 * commits by itself. It decides nothing: such a row is treated like no row at all.</li>
 * <li>A transaction locks the rows that may be changed, in the order of the roles,
 * skipping what somebody else has locked, and reads the instant and their newest versions
 * with them. From these it is decided what becomes of each; one statement writes;
 * commit.</li>
 * <li>Roles whose row was not locked are read once more to tell a row that is locked by
 * somebody from one that is no longer changeable.</li>
 * </ol>
 * Why it is right, at READ COMMITTED:
 * <ul>
 * <li>From the lock to the commit nobody else changes a row, and what is read with the
 * lock is the newest committed version, not that of an older snapshot.</li>
 * <li>The instant is read by the statement that locks, possibly before its last lock is
 * taken. That errs on the safe side: a lease that has lapsed by an earlier instant has
 * lapsed; a term that ended in between expires at a later instant than ours, and so still
 * counts as live; and a row that is ours and locked is ours, whatever the time.</li>
 * <li>Nothing waits for a locked row of a lease that exists. The statement that adds rows
 * may wait for another session that adds the same ones, in the same order, and holds no
 * other locks.</li>
 * </ul>
 */
abstract class TransactionalDialect extends JdbcDialect {

	TransactionalDialect(TableNames tables, String now) {
		super(tables, now);
	}

	/**
	 * Return a statement that reads role, owner, token, acquired, expires and now of the
	 * given roles.
	 * @return the statement; its parameters are roles, namespace
	 */
	abstract String readLeases();

	/**
	 * Return a statement that reads the same and locks what belongs to an owner or has
	 * lapsed.
	 * @return the statement; its parameters are roles, namespace, owner
	 */
	abstract String lockLeases();

	/**
	 * Return a statement that lets the leases of the given roles lapse now.
	 * @return the statement; its parameters are roles, namespace
	 */
	abstract String endLeases();

	/**
	 * Return a statement that reads role and highest mark of the guard of the given
	 * roles.
	 * @return the statement; its parameters are roles, namespace
	 */
	abstract String readMarks();

	abstract void bindRoles(Session session, PreparedStatement statement, int index, Collection<String> roles)
			throws SQLException;

	/**
	 * Add rows that do not exist, free and with token 0; leave those that do.
	 * @param session the session, in auto-commit mode
	 * @param namespace the namespace
	 * @param roles the roles, sorted
	 * @throws SQLException if it failed
	 */
	abstract void addFree(Session session, String namespace, Collection<String> roles) throws SQLException;

	abstract void write(Session session, String namespace, String ownerId, List<Change> changes) throws SQLException;

	/**
	 * See to it that the database ends the transaction of a client that has stopped in
	 * the middle of it, so that its locks do not outlive its leases.
	 * @param session the session
	 * @throws SQLException if it failed
	 */
	void boundIdleTransactions(Session session) throws SQLException {
	}

	@Override
	final List<LeaseResult> tryAcquireOrRenew(Session session, String namespace, String ownerId,
			List<LeaseRequest> requests) throws SQLException {
		Map<String, LeaseResult> results = new HashMap<>();
		Map<String, LeaseRequest> pending = new LinkedHashMap<>();
		Collection<String> acquisitions = new TreeSet<>();
		for (LeaseRequest request : requests) {
			pending.put(request.role(), request);
			if (request.heldToken().isEmpty()) {
				acquisitions.add(request.role());
			}
		}
		if (!acquisitions.isEmpty()) {
			refuseHeldByOthers(session, namespace, ownerId, acquisitions, pending, results);
		}
		if (!pending.isEmpty()) {
			boundIdleTransactions(session);
			session.inTransaction(() -> {
				change(session, namespace, ownerId, pending, results);
				return results;
			});
		}
		if (!pending.isEmpty()) {
			explainUnlocked(session, namespace, ownerId, pending, results);
		}
		List<LeaseResult> ordered = new ArrayList<>(requests.size());
		for (LeaseRequest request : requests) {
			LeaseResult result = results.get(request.role());
			ordered.add((result != null) ? result : busy(request.role()));
		}
		return ordered;
	}

	private void refuseHeldByOthers(Session session, String namespace, String ownerId, Collection<String> acquisitions,
			Map<String, LeaseRequest> pending, Map<String, LeaseResult> results) throws SQLException {
		Collection<String> missing = new TreeSet<>(acquisitions);
		for (Row row : read(session, namespace, acquisitions, null)) {
			missing.remove(row.role());
			if (row.isLive() && !row.ownerId().equals(ownerId)) {
				pending.remove(row.role());
				results.put(row.role(), row.result(Outcome.REFUSED));
			}
		}
		if (!missing.isEmpty()) {
			addFree(session, namespace, missing);
		}
	}

	private void change(Session session, String namespace, String ownerId, Map<String, LeaseRequest> pending,
			Map<String, LeaseResult> results) throws SQLException {
		List<Change> changes = new ArrayList<>();
		List<Row> grants = new ArrayList<>();
		for (Row row : read(session, namespace, new TreeSet<>(pending.keySet()), ownerId)) {
			LeaseRequest request = pending.get(row.role());
			if (request == null) {
				continue;
			}
			boolean own = row.ownerId().equals(ownerId);
			if (row.isLive() && own && request.heldToken().orElse(row.token()) == row.token()) {
				Change change = row.change(row.token(), row.acquiredAt(), request);
				changes.add(change);
				results.put(row.role(),
						result(row.role(), Outcome.RENEWED, ownerId, row.token(), change.expiresAt(), row.now()));
				pending.remove(row.role());
			}
			else if (row.isLive() || request.heldToken().isPresent()) {
				results.put(row.role(), row.result(Outcome.REFUSED));
				pending.remove(row.role());
			}
			else {
				grants.add(row);
			}
		}
		Map<String, Long> marks = highestMarks(session, namespace, grants);
		for (Row row : grants) {
			LeaseRequest request = Objects.requireNonNull(pending.remove(row.role()));
			long floor = Math.max(request.tokenFloor(), marks.getOrDefault(row.role(), 0L));
			Change change = row.change(Math.addExact(Math.max(row.token(), floor), 1), row.now(), request);
			changes.add(change);
			results.put(row.role(),
					result(row.role(), Outcome.GRANTED, ownerId, change.token(), change.expiresAt(), row.now()));
		}
		if (!changes.isEmpty()) {
			write(session, namespace, ownerId, changes);
		}
	}

	/**
	 * Leases that were restored from a backup may be behind the marks.
	 */
	private Map<String, Long> highestMarks(Session session, String namespace, List<Row> grants) throws SQLException {
		if (grants.isEmpty() || !seesMarks(session)) {
			return Map.of();
		}
		Map<String, Long> marks = new HashMap<>();
		try (PreparedStatement statement = session.prepare(readMarks())) {
			bindRoles(session, statement, 1, grants.stream().map(Row::role).toList());
			statement.setString(2, namespace);
			try (ResultSet row = statement.executeQuery()) {
				while (row.next()) {
					marks.put(row.getString(1), row.getLong(2));
				}
			}
			return marks;
		}
		catch (SQLException ex) {
			if (forgetMarks(ex)) {
				return Map.of();
			}
			throw ex;
		}
	}

	@Override
	final boolean isVisible(Session session, String table) throws SQLException {
		int dot = table.indexOf('.');
		try (PreparedStatement statement = session.prepare(findTable())) {
			statement.setString(1, (dot < 0) ? null : table.substring(0, dot));
			statement.setString(2, table.substring(dot + 1));
			try (ResultSet row = statement.executeQuery()) {
				return row.next() && row.getLong(1) > 0;
			}
		}
	}

	/**
	 * Return a statement that counts the tables of a name.
	 * @return the statement; its parameters are schema (NULL for the connection's own)
	 * and table
	 */
	abstract String findTable();

	private void explainUnlocked(Session session, String namespace, String ownerId, Map<String, LeaseRequest> pending,
			Map<String, LeaseResult> results) throws SQLException {
		Map<String, Row> rows = new HashMap<>();
		for (Row row : read(session, namespace, new TreeSet<>(pending.keySet()), null)) {
			rows.put(row.role(), row);
		}
		pending.forEach((role, request) -> {
			Row row = rows.get(role);
			boolean acquisition = request.heldToken().isEmpty();
			boolean changeable = (row != null) ? row.isChangeable(ownerId, request) : acquisition;
			if (changeable) {
				results.put(role, busy(role));
			}
			else {
				results.put(role,
						(row != null) ? row.result(Outcome.REFUSED) : result(role, Outcome.REFUSED, null, 0, 0, 0));
			}
		});
	}

	private List<Row> read(Session session, String namespace, Collection<String> roles, @Nullable String lockFor)
			throws SQLException {
		List<Row> rows = new ArrayList<>();
		try (PreparedStatement statement = session.prepare((lockFor != null) ? lockLeases() : readLeases())) {
			bindRoles(session, statement, 1, roles);
			statement.setString(2, namespace);
			if (lockFor != null) {
				statement.setString(3, lockFor);
			}
			try (ResultSet row = statement.executeQuery()) {
				while (row.next()) {
					rows.add(new Row(row.getString(1), row.getString(2), row.getLong(3), row.getLong(4), row.getLong(5),
							row.getLong(6)));
				}
			}
		}
		return rows;
	}

	@Override
	final Map<String, Boolean> release(Session session, String namespace, String ownerId, Map<String, Long> tokens)
			throws SQLException {
		Map<String, Boolean> released = new HashMap<>();
		boundIdleTransactions(session);
		session.inTransaction(() -> {
			Collection<String> ended = new TreeSet<>();
			for (Row row : read(session, namespace, tokens.keySet(), ownerId)) {
				boolean held = row.isTermOf(ownerId, tokens.get(row.role()));
				released.put(row.role(), held);
				if (held) {
					ended.add(row.role());
				}
			}
			if (!ended.isEmpty()) {
				try (PreparedStatement statement = session.prepare(endLeases())) {
					bindRoles(session, statement, 1, ended);
					statement.setString(2, namespace);
					statement.executeUpdate();
				}
			}
			return released;
		});
		Collection<String> unlocked = new TreeSet<>(tokens.keySet());
		unlocked.removeAll(released.keySet());
		if (!unlocked.isEmpty()) {
			Collection<String> busy = new HashSet<>();
			for (Row row : read(session, namespace, unlocked, null)) {
				if (row.isTermOf(ownerId, tokens.get(row.role()))) {
					busy.add(row.role());
				}
			}
			unlocked.removeAll(busy);
			unlocked.forEach((role) -> released.put(role, false));
		}
		return released;
	}

	/**
	 * A lease as read, with the instant at which it was.
	 */
	private record Row(String role, String ownerId, long token, long acquiredAt, long expiresAt, long now) {

		boolean isLive() {
			return this.token > 0 && this.expiresAt > this.now;
		}

		boolean isTermOf(String owner, @Nullable Long heldToken) {
			return isLive() && this.ownerId.equals(owner) && heldToken != null && this.token == heldToken;
		}

		boolean isChangeable(String owner, LeaseRequest request) {
			boolean acquisition = request.heldToken().isEmpty();
			return this.ownerId.equals(owner)
					? acquisition || (isLive() && request.heldToken().getAsLong() == this.token)
					: acquisition && !isLive();
		}

		Change change(long newToken, long termBegan, LeaseRequest request) {
			long ttl = request.ttl().toMillis();
			return new Change(this.role, newToken, termBegan, this.now, this.now + ttl * 1000, ttl);
		}

		LeaseResult result(Outcome outcome) {
			return JdbcDialect.result(this.role, outcome, this.ownerId, this.token, this.expiresAt, this.now);
		}

	}

	/**
	 * What is to be written, instants in microseconds since the epoch.
	 */
	record Change(String role, long token, long acquiredAt, long renewedAt, long expiresAt, long ttlMillis) {

	}

}
