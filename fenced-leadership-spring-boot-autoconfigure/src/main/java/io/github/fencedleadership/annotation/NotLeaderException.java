package io.github.fencedleadership.annotation;

/**
 * Thrown by a call to a gated method while this node does not lead its role, if the gate
 * is declared with {@link FencedLeader.Otherwise#THROW}. Trying again on this node is of
 * no use: exclude it from retries.
 */
@SuppressWarnings("serial")
public class NotLeaderException extends RuntimeException {

	private final String role;

	/**
	 * Create an exception.
	 * @param role the role that this node does not lead
	 * @param method the method that was called
	 */
	public NotLeaderException(String role, String method) {
		super("'%s' was not called because this node does not lead role '%s'".formatted(method, role));
		this.role = role;
	}

	/**
	 * Return the role that this node does not lead.
	 * @return the role
	 */
	public String getRole() {
		return this.role;
	}

}
