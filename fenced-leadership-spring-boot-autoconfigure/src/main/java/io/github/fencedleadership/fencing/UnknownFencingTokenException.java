package io.github.fencedleadership.fencing;

/**
 * Thrown when a token is higher than that of the newest term there is, so that no term
 * can have it. Accepting it would shut out the terms to come.
 */
@SuppressWarnings("serial")
public class UnknownFencingTokenException extends RuntimeException {

	private final FencingToken token;

	/**
	 * Create an exception.
	 * @param resource what was to be written to
	 * @param token the token
	 * @param newestToken the token of the newest term of the role
	 */
	public UnknownFencingTokenException(String resource, FencingToken token, long newestToken) {
		super("A write to '%s' with fencing token '%d' of role '%s' was refused: the newest term of the role has token '%d'. After a restore of the lease table, raise its tokens above those that were used"
			.formatted(resource, token.value(), token.qualifiedRole(), newestToken));
		this.token = token;
	}

	/**
	 * Return the token that no term has.
	 * @return the token
	 */
	public FencingToken getFencingToken() {
		return this.token;
	}

}
