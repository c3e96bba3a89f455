package io.github.fencedleadership.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;

import io.github.fencedleadership.actuate.BoundedReader.Reading;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.RoleStatus;
import io.github.fencedleadership.election.RoleStatus.State;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.lease.Roles;

/**
 * {@link Endpoint @Endpoint} that shows what this node is to each role, and who leads it.
 * While the store does not answer, it shows what this node knows by itself, and the
 * error.
 */
@Endpoint(id = "leadership", defaultAccess = Access.READ_ONLY)
public class LeadershipEndpoint {

	static final Duration READ_BOUND = Duration.ofSeconds(5);

	private final String namespace;

	private final LeaderElector elector;

	private final @Nullable LeaseStore leaseStore;

	private final BoundedReader reader;

	/**
	 * Create an endpoint.
	 * @param namespace the scope of the role names
	 * @param elector the elector of this node
	 * @param leaseStore the store, {@code null} if this node has none
	 */
	public LeadershipEndpoint(String namespace, LeaderElector elector, @Nullable LeaseStore leaseStore) {
		this(namespace, elector, leaseStore, READ_BOUND);
	}

	LeadershipEndpoint(String namespace, LeaderElector elector, @Nullable LeaseStore leaseStore, Duration readBound) {
		this.namespace = namespace;
		this.elector = elector;
		this.leaseStore = leaseStore;
		this.reader = new BoundedReader("fenced-leadership-endpoint", readBound);
	}

	/**
	 * Return all roles that this node contends for, or that the store knows.
	 * @return the roles, sorted by name
	 */
	@ReadOperation
	public LeadershipDescriptor leadership() {
		LeaseStore store = this.leaseStore;
		Reading<List<Lease>> leases = (store != null) ? this.reader.read("Leases", store::findAll)
				: new Reading<>(List.of(), null);
		NodeReference thisNode = NodeReference.ofThisNode(this.elector);
		Map<String, Lease> leaseByRole = new TreeMap<>();
		leases.orElse(List.of()).forEach((lease) -> leaseByRole.put(lease.role(), lease));
		Map<String, RoleDescriptor> roles = new TreeMap<>();
		for (RoleStatus status : this.elector.statuses()) {
			roles.put(status.role(), describe(status.role(), status, leaseByRole.get(status.role()), thisNode, null));
		}
		leaseByRole.forEach(
				(role, lease) -> roles.computeIfAbsent(role, (name) -> describe(name, null, lease, thisNode, null)));
		return new LeadershipDescriptor(this.namespace, thisNode, List.copyOf(roles.values()), leases.error());
	}

	/**
	 * Return one role.
	 * @param role the name of the role
	 * @return the role, {@code null} if neither this node nor the store knows it
	 */
	@ReadOperation
	public @Nullable RoleDescriptor leadershipOfRole(@Selector String role) {
		if (!Roles.isValid(role)) {
			return null;
		}
		LeaseStore store = this.leaseStore;
		Reading<Optional<Lease>> lease = (store != null)
				? this.reader.read("Lease of role '%s'".formatted(role), () -> store.find(role))
				: new Reading<>(Optional.empty(), null);
		RoleStatus status = this.elector.status(role).orElse(null);
		Lease found = lease.orElse(Optional.empty()).orElse(null);
		if (status == null && found == null && lease.error() == null) {
			return null;
		}
		return describe(role, status, found, NodeReference.ofThisNode(this.elector), lease.error());
	}

	private static RoleDescriptor describe(String role, @Nullable RoleStatus status, @Nullable Lease lease,
			@Nullable NodeReference thisNode, @Nullable String error) {
		State state = (status != null) ? status.state() : null;
		Instant since = (status != null) ? status.since() : null;
		String reason = (status != null) ? status.reason() : null;
		if (lease != null) {
			NodeReference leader = lease.isLive() ? NodeReference.of(lease.ownerId()) : null;
			return new RoleDescriptor(role, state, since, reason, leader, isThisNode(leader, thisNode),
					lease.fencingToken(), lease.acquiredAt(), lease.renewedAt(), lease.expiresAt(), lease.remaining(),
					error);
		}
		if (status != null && status.state() == State.LEADING && status.fencingToken() != null) {
			return new RoleDescriptor(role, state, since, reason, thisNode, true, status.fencingToken().value(), null,
					null, null, status.remaining(), error);
		}
		return new RoleDescriptor(role, state, since, reason, null, false, null, null, null, null, null, error);
	}

	private static boolean isThisNode(@Nullable NodeReference leader, @Nullable NodeReference thisNode) {
		return leader != null && Objects.equals(leader, thisNode);
	}

	/**
	 * Description of all roles.
	 *
	 * @param namespace the scope of the role names
	 * @param node this node, {@code null} before it was first started
	 * @param roles the roles, sorted by name
	 * @param error why the store's part is missing, {@code null} if it is not
	 */
	public record LeadershipDescriptor(String namespace, @Nullable NodeReference node, List<RoleDescriptor> roles,
			@Nullable String error) implements OperationResponseBody {

	}

	/**
	 * Description of a role. What this node knows by itself is its state, since when and
	 * why; the rest is the store's, and by the store's clock. While the store does not
	 * answer, only this node's own term is shown.
	 *
	 * @param role the name of the role
	 * @param state what this node is to the role, {@code null} if it does not contend for
	 * it
	 * @param since since when, by this node's clock
	 * @param reason why, in words
	 * @param leader the node that leads the role, {@code null} if none does
	 * @param leading whether that is this node
	 * @param fencingToken the token of the current term, or of the last if there is no
	 * leader
	 * @param acquiredAt when that term began
	 * @param renewedAt when its lease was last renewed
	 * @param expiresAt when its lease lapses, lapsed or was released
	 * @param remaining what is left of the lease
	 * @param error why the store's part is missing, {@code null} if it is not
	 */
	public record RoleDescriptor(String role, @Nullable State state, @Nullable Instant since, @Nullable String reason,
			@Nullable NodeReference leader, boolean leading, @Nullable Long fencingToken, @Nullable Instant acquiredAt,
			@Nullable Instant renewedAt, @Nullable Instant expiresAt, @Nullable Duration remaining,
			@Nullable String error) implements OperationResponseBody {

	}

}
