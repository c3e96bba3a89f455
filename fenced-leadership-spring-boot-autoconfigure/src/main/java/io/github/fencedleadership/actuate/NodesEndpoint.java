package io.github.fencedleadership.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

import io.github.fencedleadership.actuate.BoundedReader.Reading;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.RoleStatus;
import io.github.fencedleadership.election.RoleStatus.State;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.membership.Node;
import io.github.fencedleadership.membership.NodeRegistry;

/**
 * {@link Endpoint @Endpoint} that shows the live nodes and what each leads. While the
 * store does not answer, it shows this node only, and the error.
 */
@Endpoint(id = "nodes", defaultAccess = Access.READ_ONLY)
public class NodesEndpoint {

	private final String namespace;

	private final LeaderElector elector;

	private final @Nullable NodeRegistry nodeRegistry;

	private final @Nullable LeaseStore leaseStore;

	private final BoundedReader reader;

	/**
	 * Create an endpoint.
	 * @param namespace the scope of the role names
	 * @param elector the elector of this node
	 * @param nodeRegistry the registry, {@code null} if this node has none
	 * @param leaseStore the store, {@code null} if this node has none
	 */
	public NodesEndpoint(String namespace, LeaderElector elector, @Nullable NodeRegistry nodeRegistry,
			@Nullable LeaseStore leaseStore) {
		this(namespace, elector, nodeRegistry, leaseStore, LeadershipEndpoint.READ_BOUND);
	}

	NodesEndpoint(String namespace, LeaderElector elector, @Nullable NodeRegistry nodeRegistry,
			@Nullable LeaseStore leaseStore, Duration readBound) {
		this.namespace = namespace;
		this.elector = elector;
		this.nodeRegistry = nodeRegistry;
		this.leaseStore = leaseStore;
		this.reader = new BoundedReader("fenced-leadership-nodes-endpoint", readBound);
	}

	/**
	 * Return the live nodes.
	 * @return the nodes, sorted by id
	 */
	@ReadOperation
	public NodesDescriptor nodes() {
		Reading<Membership> membership = this.reader.read("Nodes", this::readMembership);
		NodeReference thisNode = NodeReference.ofThisNode(this.elector);
		String thisId = (thisNode != null) ? thisNode.id() : null;
		Map<String, NodeDescriptor> nodes = new TreeMap<>();
		if (thisNode != null && (membership.value() == null || this.nodeRegistry == null)) {
			nodes.put(thisNode.id(), new NodeDescriptor(thisNode.id(), thisNode.name(), true, null, null, null, null,
					null, rolesLedByThisNode()));
		}
		Membership known = membership.orElse(new Membership(List.of(), List.of()));
		Map<String, List<String>> roles = known.leases()
			.stream()
			.filter(Lease::isLive)
			.collect(Collectors.groupingBy(Lease::ownerId,
					Collectors.collectingAndThen(Collectors.toList(), NodesEndpoint::roles)));
		for (Node node : known.nodes()) {
			nodes.put(node.id(),
					new NodeDescriptor(node.id(), NodeReference.of(node.id()).name(), node.id().equals(thisId),
							node.startedAt(), node.lastHeartbeat(), node.host(), node.pid(), node.version(),
							roles.getOrDefault(node.id(), List.of())));
		}
		return new NodesDescriptor(this.namespace, thisNode, List.copyOf(nodes.values()), membership.error());
	}

	private Membership readMembership() {
		List<Node> nodes = (this.nodeRegistry != null) ? this.nodeRegistry.liveNodes() : List.of();
		List<Lease> leases = (this.leaseStore != null) ? this.leaseStore.findAll() : List.of();
		return new Membership(nodes, leases);
	}

	private List<String> rolesLedByThisNode() {
		return this.elector.statuses()
			.stream()
			.filter((status) -> status.state() == State.LEADING)
			.map(RoleStatus::role)
			.sorted()
			.toList();
	}

	private static List<String> roles(List<Lease> leases) {
		Stream<String> roles = leases.stream().map(Lease::role);
		return roles.sorted().toList();
	}

	private record Membership(List<Node> nodes, List<Lease> leases) {

	}

	/**
	 * Description of the live nodes.
	 *
	 * @param namespace the scope of the nodes
	 * @param node this node, {@code null} before it was first started
	 * @param nodes the live nodes, sorted by id
	 * @param error why the store's part is missing, {@code null} if it is not
	 */
	public record NodesDescriptor(String namespace, @Nullable NodeReference node, List<NodeDescriptor> nodes,
			@Nullable String error) implements OperationResponseBody {

	}

	/**
	 * Description of a node. While the store does not answer, only the ids and the roles
	 * of this node are known.
	 *
	 * @param id the owner id: the name and the incarnation
	 * @param name the configured or host-derived name
	 * @param self whether it is this node
	 * @param startedAt when its application was started, by its own clock
	 * @param lastHeartbeat its last sign of life, by the registry's clock
	 * @param host the name of its host
	 * @param pid the id of its process
	 * @param version the version of its application, if known
	 * @param roles the roles that it leads, sorted
	 */
	public record NodeDescriptor(String id, String name, boolean self, @Nullable Instant startedAt,
			@Nullable Instant lastHeartbeat, @Nullable String host, @Nullable Long pid, @Nullable String version,
			List<String> roles) implements OperationResponseBody {

	}

}
