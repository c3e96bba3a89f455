package io.github.fencedleadership.election;

import java.util.List;
import java.util.Optional;

/**
 * Contends for roles on behalf of one node, and runs work while the node leads them.
 * <p>
 * Guarantees, for every role:
 * <ul>
 * <li>Work is told of the end of its term (interrupt, and {@link Leadership#isHeld()}
 * {@code false}) at the local deadline at the latest, whatever the store is doing.</li>
 * <li>A lease is released only after the work of its term has ended; that of work which
 * will not end is left to lapse.</li>
 * <li>Work of a new term does not start on this node while work of an earlier one still
 * runs.</li>
 * <li>No exception of work, listeners or the store ends contention.</li>
 * </ul>
 * Non-guarantee: work that ignores both the interrupt and {@code isHeld()} goes on while
 * another node leads. Its writes must be fenced.
 * <p>
 * Thread-safe.
 */
public interface LeaderElector {

	/**
	 * Return the id of this node: the configured name and an incarnation that is drawn at
	 * every start.
	 * @return the owner id
	 * @throws IllegalStateException if the elector has never been started
	 */
	String ownerId();

	/**
	 * Contend for a role in the background, from now or from when the elector is started.
	 * @param task what to do with the role
	 * @return ends the interest in the role
	 * @throws IllegalArgumentException if another task has registered the role with other
	 * settings, or the elector already contends for it with others
	 */
	Registration register(LeaderTask task);

	/**
	 * Contend for a role and run work once per term, until the calling thread is
	 * interrupted or the elector closed. The work runs on a thread of its own. An
	 * interrupt ends the term: its work is drained, its lease released.
	 * @param role the role
	 * @param work the work
	 * @throws InterruptedException if the calling thread was interrupted
	 */
	void run(String role, LeaderWork work) throws InterruptedException;

	/**
	 * Enter the current term of a role with the calling thread. Until the scope is
	 * closed, the thread counts as work of the term: it has a
	 * {@link Leadership#current(String) current leadership}, is interrupted when the term
	 * ends, and the role is not released before it is done.
	 * @param role the role
	 * @return the scope, to be closed by the same thread; empty if this node does not
	 * lead the role now
	 */
	Optional<Scope> enter(String role);

	/**
	 * Hand a role over: drain its work, release its lease, and leave it to other nodes
	 * for a while. Returns at once, and does nothing if this node does not lead the role.
	 * @param role the role
	 * @return whether a term of this node is being ended by this call
	 */
	boolean stepDown(String role);

	/**
	 * Return what this node is to each role that it is interested in.
	 * @return the statuses, sorted by role
	 */
	List<RoleStatus> statuses();

	/**
	 * Return what this node is to a role.
	 * @param role the role
	 * @return the status, empty if no task has registered the role
	 */
	Optional<RoleStatus> status(String role);

	/**
	 * An interest in a role.
	 */
	interface Registration extends AutoCloseable {

		/**
		 * End the interest. The task's work is told to end; returns when it has, or a
		 * renew interval after the drain timeout at the latest. The last interest in a
		 * role ends its term. Called by work of the role, which it would have to wait
		 * for, it returns at once. Idempotent.
		 */
		@Override
		void close();

	}

	/**
	 * The presence of a thread in a term.
	 */
	interface Scope extends AutoCloseable {

		/**
		 * Return the term.
		 * @return the leadership
		 */
		Leadership leadership();

		/**
		 * Leave the term. An interrupt that was sent because the term ended is cleared,
		 * and with it one of somebody else that came on top, which cannot be told apart;
		 * while the term lasts any interrupt is kept. Idempotent.
		 */
		@Override
		void close();

	}

}
