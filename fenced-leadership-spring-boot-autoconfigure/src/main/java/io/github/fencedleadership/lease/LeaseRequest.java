package io.github.fencedleadership.lease;

import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;

/**
 * What a node asks of one lease.
 * <ul>
 * <li>With a {@code heldToken} the request is a <em>renewal</em>: it extends the live
 * term with that token, or is refused. It never begins a term, so that a renewal that was
 * delayed on its way cannot take a role whose work has already been told to stop.</li>
 * <li>Without one it is an <em>acquisition</em>: it begins a new term if the lease is
 * free or lapsed, and extends the caller's own live term if there is one, which is how a
 * reply that was lost on its way is found again.</li>
 * </ul>
 *
 * @param role the role, see {@link Roles}
 * @param ttl for how long the lease is to be held from now by the store's clock, at least
 * one millisecond; fractions of a millisecond are cut off
 * @param heldToken the token of the term to renew, empty to acquire
 * @param tokenFloor the highest token of the role that the caller has ever seen, 0 if
 * none: a new term's token is above it even if the store has lost its rows
 */
public record LeaseRequest(String role, Duration ttl, OptionalLong heldToken, long tokenFloor) {

	public LeaseRequest {
		Roles.validate(role);
		Objects.requireNonNull(ttl, "'ttl' must not be null");
		Objects.requireNonNull(heldToken, "'heldToken' must not be null");
		if (ttl.toMillis() < 1) {
			throw new IllegalArgumentException(
					"TTL '%s' of role '%s' must be at least one millisecond".formatted(ttl, role));
		}
		if (tokenFloor < 0) {
			throw new IllegalArgumentException(
					"Token floor '%d' of role '%s' must not be negative".formatted(tokenFloor, role));
		}
	}

	/**
	 * A request to acquire a role, or to adopt one's own live term.
	 * @param role the role
	 * @param ttl the time to live
	 * @param tokenFloor the highest token of the role that the caller has ever seen
	 * @return the request
	 */
	public static LeaseRequest acquire(String role, Duration ttl, long tokenFloor) {
		return new LeaseRequest(role, ttl, OptionalLong.empty(), tokenFloor);
	}

	/**
	 * A request to renew a term that the caller holds.
	 * @param role the role
	 * @param ttl the time to live
	 * @param heldToken the fencing token of the term
	 * @return the request
	 */
	public static LeaseRequest renew(String role, Duration ttl, long heldToken) {
		return new LeaseRequest(role, ttl, OptionalLong.of(heldToken), heldToken);
	}

}
