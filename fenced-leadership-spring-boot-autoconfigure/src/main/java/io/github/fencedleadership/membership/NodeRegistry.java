package io.github.fencedleadership.membership;

import java.util.List;

/**
 * Knows the live nodes of a namespace from their heartbeats.
 * <p>
 * A node is live while its last heartbeat is less than the registry's liveness TTL ago,
 * by the registry's clock. Membership is information, for people and for hand-over: no
 * leadership is decided by it.
 * <p>
 * Every method may throw an unchecked exception of the implementation's choice if the
 * registry cannot be reached or does not answer in time. Implementations are thread-safe,
 * neither join nor wait for a transaction of their caller, and bound the time that a call
 * takes.
 */
public interface NodeRegistry {

	/**
	 * Record that a node is alive as of now, by the registry's clock. A node that is not
	 * known yet is registered.
	 * @param node the node; its {@link Node#lastHeartbeat() last heartbeat} is not used
	 */
	void heartbeat(Node node);

	/**
	 * Return the live nodes.
	 * @return the nodes, sorted by id
	 */
	List<Node> liveNodes();

	/**
	 * Remove a node. Does nothing if it is not known.
	 * @param nodeId the id of the node
	 */
	void deregister(String nodeId);

}
