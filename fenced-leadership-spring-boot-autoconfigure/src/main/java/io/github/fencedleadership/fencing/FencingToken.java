package io.github.fencedleadership.fencing;

import java.util.Objects;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

/**
 * The fencing token of one term of a role: the first term of a role has token 1, every
 * new term a higher one. Renewing a lease keeps the token.
 * <p>
 * Tokens of the same role are comparable by their value; tokens of different roles, or of
 * a role of that name in another namespace, have nothing to do with each other. A token
 * protects a write only where the place that is written to compares it with the highest
 * one it has seen.
 *
 * @param namespace the scope of the role if it is another one than that of this
 * application, as with the token of a caller; {@code null} for its own
 * @param role the role that the term belongs to
 * @param value the number of the term, at least 1
 * @see <a href=
 * "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html">Kleppmann,
 * How to do distributed locking</a>
 */
public record FencingToken(@Nullable String namespace, String role, long value) {

	public FencingToken {
		Objects.requireNonNull(role, "'role' must not be null");
		if (value < 1) {
			throw new IllegalArgumentException(
					"Fencing token '%d' of role '%s' must be at least 1".formatted(value, qualify(namespace, role)));
		}
	}

	/**
	 * Create a token of a role of this application.
	 * @param role the role
	 * @param value the number of the term, at least 1
	 */
	public FencingToken(String role, long value) {
		this(null, role, value);
	}

	/**
	 * Return the name that tells the role from those of the same name in other
	 * namespaces.
	 * @return the role, {@code reports}; after its namespace and a slash if that is not
	 * the application's own, {@code orders/reports}
	 */
	public String qualifiedRole() {
		return qualify(this.namespace, this.role);
	}

	private static String qualify(@Nullable String namespace, String role) {
		return (namespace != null) ? namespace + "/" + role : role;
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
	 * @param role the role, {@linkplain #qualifiedRole() qualified} by its namespace if
	 * that is another one than the application's own
	 * @return the token, empty outside of work for that role
	 */
	public static Optional<FencingToken> current(String role) {
		return FencingContext.find((bearer) -> bearer.fencingToken().qualifiedRole().equals(role))
			.map(FencingContext.Bearer::fencingToken);
	}

	@Override
	public String toString() {
		return qualifiedRole() + "#" + this.value;
	}

}
