package io.github.fencedleadership.fencing;

/**
 * What a write passes through: refuses the write of a stale leader.
 * <p>
 * The guard keeps, per resource and role, the highest fencing token it has accepted. What
 * a resource is, is up to its users: a table, an account, a file. Tokens of different
 * roles are not comparable, so two roles that write to one resource are not fenced
 * against each other; nor are roles of the same name in different
 * {@linkplain FencingToken#namespace() namespaces}.
 * <p>
 * Guarantee: a write that was checked with a token, in the transaction in which it was
 * checked, commits only if no write of that resource with a higher token of that role
 * committed before it; and, where the guard sees the leases, only if no newer term had
 * been granted when the guard looked. Writers of one term do not keep each other waiting;
 * a newer term waits for running writers of older ones, and shuts them out.
 * <p>
 * Non-guarantee: a write that is not checked is not fenced, nor is what happens outside
 * of the transaction.
 * <p>
 * Implementations are thread-safe.
 */
public interface FencingGuard {

	/**
	 * The longest name of a resource.
	 */
	int MAX_RESOURCE_LENGTH = 200;

	/**
	 * Find out what would make every check fail. Called at start-up where writes are
	 * fenced by declaration, so that it is not the first of them that finds out. What is
	 * out of reach for the moment is no reason to fail. Does nothing by default.
	 */
	default void verify() {
	}

	/**
	 * Do ahead of a transaction what a check needs not do in it. Optional; saves a check
	 * from failing at isolation levels at which it sees the state as of the beginning of
	 * its transaction.
	 * @param resource what is going to be written to
	 * @param token the token of the writer's term
	 * @throws StaleFencingTokenException if a higher token is known already
	 * @throws IllegalArgumentException if the name of the resource must not be used
	 */
	default void prepare(String resource, FencingToken token) throws StaleFencingTokenException {
	}

	/**
	 * Accept a token for a write to a resource, or refuse it. Accepting a token that is
	 * higher than any before refuses all lower ones from then on, whatever becomes of the
	 * write.
	 * @param resource what is written to, 1 to {@value #MAX_RESOURCE_LENGTH} characters
	 * without control characters
	 * @param token the token of the writer's term
	 * @throws StaleFencingTokenException if a higher token is known
	 * @throws IllegalArgumentException if the name of the resource must not be used
	 */
	void check(String resource, FencingToken token) throws StaleFencingTokenException;

}
