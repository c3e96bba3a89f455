package io.github.fencedleadership.election;

import io.github.fencedleadership.fencing.FencingToken;

/**
 * Thrown by {@link Leadership#requireHeld()} when the term is over.
 */
@SuppressWarnings("serial")
public class LeadershipLostException extends RuntimeException {

	private final FencingToken fencingToken;

	/**
	 * Create an exception.
	 * @param fencingToken the token of the term that is over
	 */
	public LeadershipLostException(FencingToken fencingToken) {
		super("Leadership of role '%s' with fencing token '%d' is no longer held".formatted(fencingToken.role(),
				fencingToken.value()));
		this.fencingToken = fencingToken;
	}

	/**
	 * Return the token of the term that is over.
	 * @return the fencing token
	 */
	public FencingToken getFencingToken() {
		return this.fencingToken;
	}

}
