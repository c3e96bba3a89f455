package io.github.fencedleadership.fencing;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a write that has to be fenced is tried outside of any term, so that there
 * is no token to fence it with. It is never let through instead.
 */
@SuppressWarnings("serial")
public class NoFencingTokenException extends IllegalStateException {

	/**
	 * Create an exception.
	 * @param resource what was to be written to
	 * @param role the role whose token was asked for, {@code null} for any
	 */
	public NoFencingTokenException(String resource, @Nullable String role) {
		super("A write to '%s' was refused: the calling thread acts in no term%s, so there is no fencing token. Call it from @FencedLeader work on the thread of that work, or on one that its context is propagated to, before that work has ended"
			.formatted(resource, (role != null) ? " of role '" + role + "'" : ""));
	}

}
