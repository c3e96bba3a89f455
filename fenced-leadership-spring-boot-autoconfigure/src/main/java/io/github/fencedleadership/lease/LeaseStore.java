package io.github.fencedleadership.lease;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Keeps one renewable lease per role of a namespace, and hands out fencing tokens.
 * <p>
 * Guarantees:
 * <ul>
 * <li>Token order: the tokens granted for a role strictly rise over grant, lapse, release
 * and crash. A renewal keeps the token. A lapsed lease that its former owner takes again
 * is a new term with a new token.</li>
 * <li>One live lease: by the store's clock, read while the request is carried out, at
 * most one owner holds a role at any instant. No clock of a node takes part.</li>
 * <li>Idempotence: a request whose reply was lost may be sent again with the same owner;
 * the answer tells the truth.</li>
 * <li>A request neither joins nor waits for a transaction of its caller. What it reports
 * has been committed.</li>
 * </ul>
 * Non-guarantees: a store cannot keep a former owner from <em>believing</em> that it
 * still leads, see {@code Leadership#isHeld()}; and a database that loses committed rows
 * (an asynchronous failover) may grant a token twice.
 * <p>
 * Every method may throw an unchecked exception of the implementation's choice if the
 * store cannot be reached or does not answer in time. The outcome is then unknown: the
 * request may or may not have been carried out. Implementations are thread-safe, and
 * bound the time that a call takes.
 */
public interface LeaseStore {

	/**
	 * Acquire, adopt or renew the leases of several roles, in one round trip where the
	 * store can.
	 * @param ownerId the id of the calling node, unique to this start of it
	 * @param requests the requests, at most one per role
	 * @return one result per request, in the order of the requests
	 * @throws IllegalArgumentException if two requests name the same role
	 */
	List<LeaseResult> tryAcquireOrRenew(String ownerId, Collection<LeaseRequest> requests);

	/**
	 * Acquire a role if its lease is free or lapsed, extend the lease if it is the
	 * owner's own and live, refuse otherwise.
	 * @param role the role
	 * @param ownerId the id of the calling node
	 * @param ttl for how long the lease is to be held from now
	 * @return the result
	 */
	default LeaseResult tryAcquireOrRenew(String role, String ownerId, Duration ttl) {
		return tryAcquireOrRenew(ownerId, List.of(LeaseRequest.acquire(role, ttl, 0))).get(0);
	}

	/**
	 * End a live term before its time. The lease is free at once; its token is not used
	 * again.
	 * @param role the role
	 * @param ownerId the owner of the term
	 * @param fencingToken the token of the term
	 * @return {@code true} if exactly this term was live and is over now, {@code false}
	 * if nothing was changed
	 */
	boolean release(String role, String ownerId, long fencingToken);

	/**
	 * End live terms of an owner before their time, in one round trip where the store
	 * can. What is true of one {@linkplain #release(String, String, long) release} is
	 * true of each. By default the terms are released one by one, which a store for many
	 * roles should do better.
	 * @param ownerId the owner of the terms
	 * @param fencingTokens the tokens of the terms by role
	 * @return whether exactly that term was live and is over now, by role. A role is
	 * missing if its lease is locked by somebody's transaction: nothing was changed or
	 * decided, and it may be asked for again
	 */
	default Map<String, Boolean> release(String ownerId, Map<String, Long> fencingTokens) {
		Map<String, Boolean> released = new HashMap<>();
		fencingTokens.forEach((role, token) -> released.put(role, release(role, ownerId, token)));
		return released;
	}

	/**
	 * Return the lease of a role, live or not.
	 * @param role the role
	 * @return the lease, empty if the role has never been held
	 */
	Optional<Lease> find(String role);

	/**
	 * Return all leases of the namespace, live or not.
	 * @return the leases, sorted by role
	 */
	List<Lease> findAll();

}
