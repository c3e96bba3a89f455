package io.github.fencedleadership.lease;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.lease.LeaseResult.Outcome;

/**
 * A {@link LeaseStore} in the memory of one process, on a clock that is given to it. It
 * elects among the users of this one object only, which is what tests and single-process
 * applications need. It is also the model that every other store is compared with.
 * <p>
 * Thread-safe. Instants have the precision of a microsecond, like those of a database.
 */
public final class InMemoryLeaseStore implements LeaseStore {

	private final InstantSource clock;

	private final TreeMap<String, Term> terms = new TreeMap<>();

	/**
	 * Create a store.
	 * @param clock the store's clock, the only arbiter of expiry
	 */
	public InMemoryLeaseStore(InstantSource clock) {
		this.clock = Objects.requireNonNull(clock, "'clock' must not be null");
	}

	@Override
	public synchronized List<LeaseResult> tryAcquireOrRenew(String ownerId, Collection<LeaseRequest> requests) {
		Objects.requireNonNull(ownerId, "'ownerId' must not be null");
		requireDistinctRoles(requests);
		Instant now = now();
		List<LeaseResult> results = new ArrayList<>(requests.size());
		for (LeaseRequest request : requests) {
			results.add(tryAcquireOrRenew(ownerId, request, now));
		}
		return results;
	}

	private LeaseResult tryAcquireOrRenew(String ownerId, LeaseRequest request, Instant now) {
		Term current = this.terms.get(request.role());
		boolean live = current != null && current.expiresAt().isAfter(now);
		boolean own = current != null && current.ownerId().equals(ownerId);
		Instant expiresAt = now.plusMillis(request.ttl().toMillis());
		if (current != null && live && own && request.heldToken().orElse(current.token()) == current.token()) {
			Term renewed = new Term(ownerId, current.token(), current.acquiredAt(), now, expiresAt);
			this.terms.put(request.role(), renewed);
			return result(request.role(), Outcome.RENEWED, renewed, now);
		}
		if (live || request.heldToken().isPresent()) {
			return result(request.role(), Outcome.REFUSED, current, now);
		}
		long highest = Math.max(request.tokenFloor(), (current != null) ? current.token() : 0);
		Term granted = new Term(ownerId, Math.addExact(highest, 1), now, now, expiresAt);
		this.terms.put(request.role(), granted);
		return result(request.role(), Outcome.GRANTED, granted, now);
	}

	@Override
	public synchronized boolean release(String role, String ownerId, long fencingToken) {
		Instant now = now();
		Term current = this.terms.get(role);
		if (current == null || !current.expiresAt().isAfter(now) || !current.ownerId().equals(ownerId)
				|| current.token() != fencingToken) {
			return false;
		}
		this.terms.put(role, new Term(ownerId, fencingToken, current.acquiredAt(), current.renewedAt(), now));
		return true;
	}

	@Override
	public synchronized Optional<Lease> find(String role) {
		return Optional.ofNullable(this.terms.get(role)).map((term) -> term.toLease(role, now()));
	}

	@Override
	public synchronized List<Lease> findAll() {
		Instant now = now();
		return this.terms.entrySet().stream().map((entry) -> entry.getValue().toLease(entry.getKey(), now)).toList();
	}

	private Instant now() {
		return this.clock.instant().truncatedTo(ChronoUnit.MICROS);
	}

	private static LeaseResult result(String role, Outcome outcome, @Nullable Term term, Instant now) {
		return (term != null)
				? new LeaseResult(role, outcome, term.token(), term.ownerId(), term.expiresAt(), term.remaining(now))
				: new LeaseResult(role, outcome, 0, null, null, Duration.ZERO);
	}

	private static void requireDistinctRoles(Collection<LeaseRequest> requests) {
		Set<String> roles = new HashSet<>();
		for (LeaseRequest request : requests) {
			if (!roles.add(request.role())) {
				throw new IllegalArgumentException("Role '%s' is requested twice".formatted(request.role()));
			}
		}
	}

	private record Term(String ownerId, long token, Instant acquiredAt, Instant renewedAt, Instant expiresAt) {

		Duration remaining(Instant now) {
			return this.expiresAt.isAfter(now) ? Duration.between(now, this.expiresAt) : Duration.ZERO;
		}

		Lease toLease(String role, Instant now) {
			return new Lease(role, this.ownerId, this.token, this.acquiredAt, this.renewedAt, this.expiresAt,
					remaining(now));
		}

	}

}
