package io.github.fencedleadership.jdbc;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.lease.Roles;
import io.github.fencedleadership.membership.Node;

/**
 * A {@link LeaseStore} in a relational database. The database's clock is the only arbiter
 * of expiry.
 * <p>
 * On PostgreSQL any number of requests is one statement. Elsewhere it is one read if
 * there is nothing to take, and one short transaction otherwise; the number of statements
 * does not depend on the number of roles. No statement waits for a row that somebody else
 * has locked; the release of a single role tries again within its bound.
 * <p>
 * Failures are thrown as {@link org.springframework.dao.DataAccessException}.
 * Thread-safe.
 */
public final class JdbcLeaseStore implements LeaseStore {

	private final JdbcDatabase database;

	private final String namespace;

	/**
	 * Create a store.
	 * @param database the database
	 * @param namespace the scope of the role names, subject to the same rule as they are
	 */
	public JdbcLeaseStore(JdbcDatabase database, String namespace) {
		this.database = Objects.requireNonNull(database, "'database' must not be null");
		this.namespace = requireValidNamespace(namespace);
	}

	@Override
	public List<LeaseResult> tryAcquireOrRenew(String ownerId, Collection<LeaseRequest> requests) {
		if (ownerId.isEmpty() || ownerId.length() > Node.MAX_ID_LENGTH) {
			throw new IllegalArgumentException(
					"Owner id '%s' must have 1 to %d characters".formatted(ownerId, Node.MAX_ID_LENGTH));
		}
		List<LeaseRequest> ordered = requireDistinctRoles(requests);
		if (ordered.isEmpty()) {
			return List.of();
		}
		return this.database.call("acquire or renew leases",
				(session, dialect) -> dialect.tryAcquireOrRenew(session, this.namespace, ownerId, ordered));
	}

	@Override
	public boolean release(String role, String ownerId, long fencingToken) {
		Map<String, Long> tokens = Map.of(role, fencingToken);
		return this.database.call("release the lease of role '%s'".formatted(role), (session, dialect) -> {
			Boolean released = dialect.release(session, this.namespace, ownerId, tokens).get(role);
			while (released == null) {
				if (!session.pause()) {
					throw new SQLException("The lease of role '%s' is locked by somebody's transaction".formatted(role),
							PostgresDialect.LOCK_NOT_AVAILABLE);
				}
				released = dialect.release(session, this.namespace, ownerId, tokens).get(role);
			}
			return released;
		});
	}

	@Override
	public Map<String, Boolean> release(String ownerId, Map<String, Long> fencingTokens) {
		if (fencingTokens.isEmpty()) {
			return Map.of();
		}
		return this.database.call("release leases",
				(session, dialect) -> dialect.release(session, this.namespace, ownerId, new TreeMap<>(fencingTokens)));
	}

	@Override
	public Optional<Lease> find(String role) {
		return this.database
			.call("find the lease of role '%s'".formatted(role),
					(session, dialect) -> dialect.findLeases(session, this.namespace, role))
			.stream()
			.findFirst();
	}

	@Override
	public List<Lease> findAll() {
		return this.database.call("find all leases",
				(session, dialect) -> dialect.findLeases(session, this.namespace, null));
	}

	static String requireValidNamespace(String namespace) {
		if (!Roles.isValid(namespace)) {
			throw new IllegalArgumentException(
					"Namespace '%s' must have 1 to %d characters, each an ASCII letter or digit or one of '._:-'"
						.formatted(namespace, Roles.MAX_LENGTH));
		}
		return namespace;
	}

	private static List<LeaseRequest> requireDistinctRoles(Collection<LeaseRequest> requests) {
		Set<String> roles = new HashSet<>();
		for (LeaseRequest request : requests) {
			if (!roles.add(request.role())) {
				throw new IllegalArgumentException("Role '%s' is requested twice".formatted(request.role()));
			}
		}
		return new ArrayList<>(requests);
	}

}
