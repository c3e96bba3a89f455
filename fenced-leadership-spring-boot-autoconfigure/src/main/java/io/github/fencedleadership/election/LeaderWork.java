package io.github.fencedleadership.election;

/**
 * Work that is done by one node at a time. It is called once per term, on a thread of its
 * own, and usually loops while the leadership is held:
 *
 * <pre class="code">
 * (leadership) -&gt; {
 *     while (leadership.await(Duration.ofSeconds(5))) {
 *         sendReports(leadership.fencingToken());
 *     }
 * }
 * </pre>
 *
 * Returning normally keeps the term: the node stays an idle leader until the lease is
 * lost or the elector stopped. Throwing ends the term, and the node backs off before it
 * contends again, so that a healthy node gets the role.
 */
@FunctionalInterface
public interface LeaderWork {

	/**
	 * Do the work of one term. When the leadership ends, for whatever reason, the calling
	 * thread is interrupted and {@link Leadership#isHeld()} is {@code false}; the role is
	 * neither released nor taken again by this node until this method has returned.
	 * @param leadership the term that the work is done in
	 * @throws Exception to end the term
	 */
	void lead(Leadership leadership) throws Exception;

}
