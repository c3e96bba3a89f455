package io.github.fencedleadership.fencing;

/**
 * Thrown when a write is refused because its writer's term is over: a newer one is known.
 * Trying again is pointless, since a token never becomes current again; this is on
 * purpose not a transient exception.
 */
@SuppressWarnings("serial")
public class StaleFencingTokenException extends RuntimeException {

	private final String resource;

	private final FencingToken token;

	private final long newerToken;

	/**
	 * Create an exception.
	 * @param resource what was to be written to
	 * @param token the token of the writer
	 * @param newerToken the higher token of the role that is known
	 */
	public StaleFencingTokenException(String resource, FencingToken token, long newerToken) {
		super("A write to '%s' with fencing token '%d' of role '%s' was refused: token '%d' is known, so the writer's term is over"
			.formatted(resource, token.value(), token.qualifiedRole(), newerToken));
		this.resource = resource;
		this.token = token;
		this.newerToken = newerToken;
	}

	/**
	 * Return what was to be written to.
	 * @return the name of the resource
	 */
	public String getResource() {
		return this.resource;
	}

	/**
	 * Return the role of the writer.
	 * @return the name of the role
	 */
	public String getRole() {
		return this.token.role();
	}

	/**
	 * Return the token of the writer, which is over.
	 * @return the token
	 */
	public FencingToken getFencingToken() {
		return this.token;
	}

	/**
	 * Return the higher token of the role that is known.
	 * @return the value of the token
	 */
	public long getNewerToken() {
		return this.newerToken;
	}

}
