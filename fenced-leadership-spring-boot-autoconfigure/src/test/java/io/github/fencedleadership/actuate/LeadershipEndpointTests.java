package io.github.fencedleadership.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CountDownLatch;

import org.junit.jupiter.api.Test;

import io.github.fencedleadership.actuate.LeadershipEndpoint.LeadershipDescriptor;
import io.github.fencedleadership.actuate.LeadershipEndpoint.RoleDescriptor;
import io.github.fencedleadership.actuate.NodesEndpoint.NodeDescriptor;
import io.github.fencedleadership.actuate.NodesEndpoint.NodesDescriptor;
import io.github.fencedleadership.annotation.FakeLeaderElector;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.RoleStatus.State;
import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.membership.InMemoryNodeRegistry;
import io.github.fencedleadership.membership.Node;
import io.github.fencedleadership.membership.NodeRegistry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeadershipEndpoint} and {@link NodesEndpoint}.
 */
class LeadershipEndpointTests {

	private static final Duration TTL = Duration.ofSeconds(30);

	private static final Duration SHORT_BOUND = Duration.ofMillis(50);

	private final FakeLeaderElector elector = new FakeLeaderElector();

	private Instant now = Instant.parse("2026-03-04T05:06:07Z");

	private final LeaseStore store = new InMemoryLeaseStore(() -> this.now);

	private final NodeRegistry registry = new InMemoryNodeRegistry(() -> this.now, Duration.ofMinutes(1));

	private final LeadershipEndpoint endpoint = new LeadershipEndpoint("orders", this.elector, this.store);

	private final NodesEndpoint nodesEndpoint = new NodesEndpoint("orders", this.elector, this.registry, this.store);

	@Test
	void roleThatThisNodeLeads() {
		this.elector.register(LeaderTask.holding("reports"));
		this.elector.lead("reports", 1);
		this.store.tryAcquireOrRenew("reports", "fake#1", TTL);
		this.now = this.now.plusSeconds(10);
		this.store.tryAcquireOrRenew("reports", "fake#1", TTL);
		this.now = this.now.plusSeconds(5);
		LeadershipDescriptor leadership = this.endpoint.leadership();
		assertThat(leadership.namespace()).isEqualTo("orders");
		assertThat(leadership.node()).isEqualTo(new NodeReference("fake#1", "fake"));
		assertThat(leadership.error()).isNull();
		assertThat(leadership.roles()).containsExactly(new RoleDescriptor("reports", State.LEADING, Instant.EPOCH,
				"because the test says so", new NodeReference("fake#1", "fake"), true, 1L,
				Instant.parse("2026-03-04T05:06:07Z"), Instant.parse("2026-03-04T05:06:17Z"),
				Instant.parse("2026-03-04T05:06:47Z"), Duration.ofSeconds(25), null));
	}

	@Test
	void roleThatAnotherNodeLeads() {
		this.elector.register(LeaderTask.holding("reports"));
		this.store.tryAcquireOrRenew("reports", "other#2", TTL);
		RoleDescriptor role = onlyRole(this.endpoint.leadership());
		assertThat(role.state()).isEqualTo(State.STANDBY);
		assertThat(role.leader()).isEqualTo(new NodeReference("other#2", "other"));
		assertThat(role.leading()).isFalse();
	}

	@Test
	void roleThatOnlyOtherNodesContendFor() {
		this.store.tryAcquireOrRenew("reports", "other#2", TTL);
		RoleDescriptor role = onlyRole(this.endpoint.leadership());
		assertThat(role.state()).isNull();
		assertThat(role.leader()).isEqualTo(new NodeReference("other#2", "other"));
		assertThat(this.endpoint.leadershipOfRole("reports")).isEqualTo(role);
	}

	@Test
	void roleThatNobodyLeadsAnyMore() {
		this.store.tryAcquireOrRenew("reports", "other#2", TTL);
		this.now = this.now.plusSeconds(31);
		RoleDescriptor role = onlyRole(this.endpoint.leadership());
		assertThat(role.leader()).isNull();
		assertThat(role.fencingToken()).isOne();
		assertThat(role.remaining()).isEqualTo(Duration.ZERO);
	}

	@Test
	void roleThatWasNeverLed() {
		this.elector.register(LeaderTask.holding("reports"));
		RoleDescriptor role = onlyRole(this.endpoint.leadership());
		assertThat(role.leader()).isNull();
		assertThat(role.fencingToken()).isNull();
		assertThat(this.endpoint.leadershipOfRole("reports")).isEqualTo(role);
	}

	@Test
	void rolesAreSorted() {
		this.elector.register(LeaderTask.holding("b"));
		this.store.tryAcquireOrRenew("c", "other#2", TTL);
		this.store.tryAcquireOrRenew("a", "other#2", TTL);
		assertThat(this.endpoint.leadership().roles()).extracting(RoleDescriptor::role).containsExactly("a", "b", "c");
	}

	@Test
	void unknownRoleIsNothing() {
		assertThat(this.endpoint.leadershipOfRole("unknown")).isNull();
		assertThat(this.endpoint.leadershipOfRole("not a role")).isNull();
	}

	@Test
	void failingStoreLeavesWhatThisNodeKnowsAndAnErrorWithoutDetails() {
		LeaseStore failing = mock();
		given(failing.findAll()).willThrow(new IllegalStateException("jdbc:postgresql://db/?password=secret"));
		given(failing.find("reports")).willThrow(new IllegalStateException("jdbc:postgresql://db/?password=secret"));
		LeadershipEndpoint endpoint = new LeadershipEndpoint("orders", this.elector, failing);
		this.elector.register(LeaderTask.holding("reports"));
		this.elector.register(LeaderTask.holding("standby"));
		this.elector.lead("reports", 7);
		LeadershipDescriptor leadership = endpoint.leadership();
		assertThat(leadership.error()).isEqualTo("Leases cannot be read: IllegalStateException");
		assertThat(leadership.roles()).hasSize(2);
		RoleDescriptor reports = leadership.roles().get(0);
		assertThat(reports.leading()).isTrue();
		assertThat(reports.fencingToken()).isEqualTo(7);
		assertThat(reports.remaining()).isPositive();
		assertThat(leadership.roles().get(1).leader()).isNull();
		RoleDescriptor role = endpoint.leadershipOfRole("reports");
		assertThat(role).isNotNull();
		assertThat(role.error()).isEqualTo("Lease of role 'reports' cannot be read: IllegalStateException");
		assertThat(role.leading()).isTrue();
	}

	@Test
	void unknownRoleIsAnErrorWhileTheStoreDoesNotAnswer() {
		LeaseStore failing = mock();
		given(failing.find("unknown")).willThrow(new IllegalStateException());
		RoleDescriptor role = new LeadershipEndpoint("orders", this.elector, failing).leadershipOfRole("unknown");
		assertThat(role).isNotNull();
		assertThat(role.state()).isNull();
		assertThat(role.error()).isNotNull();
	}

	@Test
	void hangingStoreIsNotWaitedForAndDoesNotUseUpThreads() {
		CountDownLatch hang = new CountDownLatch(1);
		LeaseStore hanging = mock();
		given(hanging.findAll()).willAnswer((invocation) -> {
			awaitWhateverHappens(hang);
			return List.<Lease>of();
		});
		LeadershipEndpoint endpoint = new LeadershipEndpoint("orders", this.elector, hanging, SHORT_BOUND);
		this.elector.register(LeaderTask.holding("reports"));
		try {
			for (int i = 0; i < 4; i++) {
				LeadershipDescriptor leadership = endpoint.leadership();
				assertThat(leadership.error()).isEqualTo("Leases cannot be read: no answer within 'PT0.05S'");
				assertThat(leadership.roles()).hasSize(1);
			}
			assertThat(endpoint.leadership().error())
				.isEqualTo("Leases cannot be read: earlier reads have not returned yet");
		}
		finally {
			hang.countDown();
		}
	}

	@Test
	void withoutAStoreThereIsWhatThisNodeKnows() {
		this.elector.register(LeaderTask.holding("reports"));
		LeadershipEndpoint endpoint = new LeadershipEndpoint("orders", this.elector, null);
		assertThat(onlyRole(endpoint.leadership()).state()).isEqualTo(State.STANDBY);
		assertThat(endpoint.leadership().error()).isNull();
		assertThat(endpoint.leadershipOfRole("unknown")).isNull();
	}

	@Test
	void nodesAreSortedWithTheRolesThatTheyLead() {
		Instant startedAt = this.now.minusSeconds(60);
		this.registry.heartbeat(new Node("fake#1", "host-1", 11, "1.0", startedAt, startedAt));
		this.registry.heartbeat(new Node("a#2", "host-2", 22, null, startedAt, startedAt));
		this.store.tryAcquireOrRenew("b", "fake#1", TTL);
		this.store.tryAcquireOrRenew("a", "fake#1", TTL);
		this.store.tryAcquireOrRenew("lapsed", "a#2", Duration.ofSeconds(1));
		this.now = this.now.plusSeconds(2);
		NodesDescriptor nodes = this.nodesEndpoint.nodes();
		assertThat(nodes.error()).isNull();
		assertThat(nodes.node()).isEqualTo(new NodeReference("fake#1", "fake"));
		Instant heartbeat = this.now.minusSeconds(2);
		assertThat(nodes.nodes()).containsExactly(
				new NodeDescriptor("a#2", "a", false, startedAt, heartbeat, "host-2", 22L, null, List.of()),
				new NodeDescriptor("fake#1", "fake", true, startedAt, heartbeat, "host-1", 11L, "1.0",
						List.of("a", "b")));
	}

	@Test
	void failingRegistryLeavesThisNodeAndAnError() {
		NodeRegistry failing = mock();
		given(failing.liveNodes()).willThrow(new IllegalStateException("secret"));
		this.elector.register(LeaderTask.holding("reports"));
		this.elector.lead("reports", 1);
		NodesDescriptor nodes = new NodesEndpoint("orders", this.elector, failing, this.store).nodes();
		assertThat(nodes.error()).isEqualTo("Nodes cannot be read: IllegalStateException");
		assertThat(nodes.nodes()).singleElement().satisfies((node) -> {
			assertThat(node.id()).isEqualTo("fake#1");
			assertThat(node.self()).isTrue();
			assertThat(node.roles()).containsExactly("reports");
		});
	}

	@Test
	void hangingRegistryIsNotWaitedFor() {
		CountDownLatch hang = new CountDownLatch(1);
		NodeRegistry hanging = mock();
		given(hanging.liveNodes()).willAnswer((invocation) -> {
			awaitWhateverHappens(hang);
			return List.<Node>of();
		});
		try {
			assertThat(new NodesEndpoint("orders", this.elector, hanging, this.store, SHORT_BOUND).nodes().error())
				.isEqualTo("Nodes cannot be read: no answer within 'PT0.05S'");
		}
		finally {
			hang.countDown();
		}
	}

	private static RoleDescriptor onlyRole(LeadershipDescriptor leadership) {
		assertThat(leadership.roles()).hasSize(1);
		return leadership.roles().get(0);
	}

	/**
	 * As a call in a driver may do, ignore interrupts.
	 */
	private static void awaitWhateverHappens(CountDownLatch latch) {
		boolean done = false;
		while (!done) {
			try {
				latch.await();
				done = true;
			}
			catch (InterruptedException ex) {
				// Goes on, that is the point
			}
		}
	}

}
