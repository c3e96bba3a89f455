package io.github.fencedleadership.membership;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What every {@link NodeRegistry} has to do. Extend it for a registry of your own.
 * <p>
 * The registry under test has to be empty before every test, have the liveness TTL
 * {@link #LIVENESS_TTL}, and its clock has to stand still except when it is told to
 * {@link #advance advance}.
 */
public abstract class NodeRegistryContract {

	/** The liveness TTL of the registry under test. */
	protected static final Duration LIVENESS_TTL = Duration.ofSeconds(30);

	private static final Instant STARTED = Instant.parse("2026-03-28T23:30:00.654321Z");

	/**
	 * Return the registry under test: the same one during a test.
	 * @return the registry
	 */
	protected abstract NodeRegistry registry();

	/**
	 * Let the registry's clock advance.
	 * @param duration by how much
	 */
	protected abstract void advance(Duration duration);

	@Test
	void nobodyIsLiveAtFirst() {
		assertThat(registry().liveNodes()).isEmpty();
	}

	@Test
	void heartbeatRegistersNode() {
		registry().heartbeat(node("node-a"));
		assertThat(registry().liveNodes()).singleElement().satisfies((node) -> {
			assertThat(node.id()).isEqualTo("node-a");
			assertThat(node.host()).isEqualTo("host.example");
			assertThat(node.pid()).isEqualTo(4711);
			assertThat(node.version()).isEqualTo("1.2.3");
			assertThat(node.startedAt()).isEqualTo(STARTED);
		});
	}

	@Test
	void nodeNeedNotHaveVersion() {
		registry().heartbeat(new Node("node-a", "host", 1, null, STARTED, STARTED));
		assertThat(registry().liveNodes()).singleElement().satisfies((node) -> assertThat(node.version()).isNull());
	}

	@Test
	void heartbeatIsByTheRegistrysClock() {
		registry().heartbeat(node("node-a"));
		Instant first = registry().liveNodes().get(0).lastHeartbeat();
		advance(Duration.ofSeconds(7));
		registry().heartbeat(node("node-a"));
		assertThat(registry().liveNodes()).singleElement()
			.satisfies((node) -> assertThat(node.lastHeartbeat()).isEqualTo(first.plusSeconds(7)));
	}

	@Test
	void heartbeatReplacesWhatIsKnown() {
		registry().heartbeat(node("node-a"));
		registry().heartbeat(new Node("node-a", "other", 1, "2", STARTED.plusSeconds(1), STARTED));
		assertThat(registry().liveNodes()).singleElement().satisfies((node) -> {
			assertThat(node.host()).isEqualTo("other");
			assertThat(node.pid()).isEqualTo(1);
			assertThat(node.version()).isEqualTo("2");
			assertThat(node.startedAt()).isEqualTo(STARTED.plusSeconds(1));
		});
	}

	@Test
	void liveNodesAreSortedById() {
		for (String id : new String[] { "node-b", "node-a#2", "Node-c", "node-a#10" }) {
			registry().heartbeat(node(id));
		}
		assertThat(registry().liveNodes()).extracting(Node::id)
			.containsExactly("Node-c", "node-a#10", "node-a#2", "node-b");
	}

	@Test
	void silentNodeIsNoLongerLiveOnceTheTtlIsOver() {
		registry().heartbeat(node("node-a"));
		advance(LIVENESS_TTL.minus(1, ChronoUnit.MICROS));
		assertThat(registry().liveNodes()).hasSize(1);
		advance(Duration.of(1, ChronoUnit.MICROS));
		assertThat(registry().liveNodes()).isEmpty();
	}

	@Test
	void heartbeatKeepsNodeLive() {
		registry().heartbeat(node("node-a"));
		registry().heartbeat(node("node-b"));
		advance(LIVENESS_TTL.minusSeconds(1));
		registry().heartbeat(node("node-a"));
		advance(Duration.ofSeconds(1));
		assertThat(registry().liveNodes()).extracting(Node::id).containsExactly("node-a");
	}

	@Test
	void lapsedNodeComesBackWithItsNextHeartbeat() {
		registry().heartbeat(node("node-a"));
		advance(LIVENESS_TTL.multipliedBy(2));
		registry().heartbeat(node("node-a"));
		assertThat(registry().liveNodes()).hasSize(1);
	}

	@Test
	void deregisteredNodeIsGone() {
		registry().heartbeat(node("node-a"));
		registry().heartbeat(node("node-b"));
		registry().deregister("node-a");
		assertThat(registry().liveNodes()).extracting(Node::id).containsExactly("node-b");
	}

	@Test
	void deregisteringUnknownNodeDoesNothing() {
		registry().heartbeat(node("node-a"));
		registry().deregister("node-b");
		assertThat(registry().liveNodes()).hasSize(1);
	}

	@Test
	void longestNamesAreKept() {
		String id = "n".repeat(Node.MAX_ID_LENGTH);
		String text = "\u00e4".repeat(Node.MAX_TEXT_LENGTH);
		registry().heartbeat(new Node(id, text, Long.MAX_VALUE, text, STARTED, STARTED));
		assertThat(registry().liveNodes()).singleElement().satisfies((node) -> {
			assertThat(node.id()).isEqualTo(id);
			assertThat(node.host()).isEqualTo(text);
			assertThat(node.pid()).isEqualTo(Long.MAX_VALUE);
			assertThat(node.version()).isEqualTo(text);
		});
	}

	private static Node node(String id) {
		return new Node(id, "host.example", 4711, "1.2.3", STARTED, Instant.EPOCH);
	}

}
