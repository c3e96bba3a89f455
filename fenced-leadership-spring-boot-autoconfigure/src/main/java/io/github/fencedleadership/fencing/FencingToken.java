package io.github.fencedleadership.fencing;

import java.util.Objects;
import java.util.Optional;

/**
 * The fencing token of one term of a role: the first term of a role has token 1, every
 * new term a higher one. Renewing a lease keeps the token.
 * <p>
 * Tokens of the same role are comparable by their value; tokens of different roles have
 * nothing to do with each other. A token protects a write only where the place that is
 * written to compares it with the highest one it has seen.
 *
 * @param role the role that the term belongs to
 * @param value the number of the term, at least 1
 * @see <a href=
 * "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html">Kleppmann,
 * How to do distributed locking</a>
 */
public record FencingToken(String role, long value) {

	public FencingToken {
		Objects.requireNonNull(role, "'role' must not be null");
		if (value < 1) {
			throw new IllegalArgumentException(
					"Fencing token '%d' of role '%s' must be at least 1".formatted(value, role));
		}
	}

	/**
	 * Return the token of the innermost term that the calling thread acts in, be it over
	 * or not.
	 * @return the token, empty outside of leader work
	 */
	public static Optional<FencingToken> current() {
		return FencingContext.find((bearer) -> true).map(FencingContext.Bearer::fencingToken);
	}

	/**
	 * Return the token of the term of a role that the calling thread acts in, be it over
	 * or not.
	 * @param role the role
	 * @return the token, empty outside of work for that role
	 */
	public static Optional<FencingToken> current(String role) {
		return FencingContext.find((bearer) -> bearer.fencingToken().role().equals(role))
			.map(FencingContext.Bearer::fencingToken);
	}

	@Override
	public String toString() {
		return this.role + "#" + this.value;
	}

}
