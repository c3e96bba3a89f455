package io.github.fencedleadership.membership;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;

/**
 * A {@link NodeRegistry} in the memory of one process, on a clock that is given to it.
 * <p>
 * Thread-safe. Nodes that are no longer live are forgotten at the next heartbeat of
 * another one.
 */
public final class InMemoryNodeRegistry implements NodeRegistry {

	private final InstantSource clock;

	private final Duration livenessTtl;

	private final TreeMap<String, Node> nodes = new TreeMap<>();

	/**
	 * Create a registry.
	 * @param clock the registry's clock
	 * @param livenessTtl for how long a node counts as live after a heartbeat
	 */
	public InMemoryNodeRegistry(InstantSource clock, Duration livenessTtl) {
		this.clock = Objects.requireNonNull(clock, "'clock' must not be null");
		this.livenessTtl = Objects.requireNonNull(livenessTtl, "'livenessTtl' must not be null");
		if (livenessTtl.isNegative() || livenessTtl.isZero()) {
			throw new IllegalArgumentException("Liveness TTL '%s' must be positive".formatted(livenessTtl));
		}
	}

	@Override
	public synchronized void heartbeat(Node node) {
		Instant now = now();
		this.nodes.values().removeIf((known) -> !isLive(known, now));
		this.nodes.put(node.id(), node.withLastHeartbeat(now));
	}

	@Override
	public synchronized List<Node> liveNodes() {
		Instant now = now();
		return this.nodes.values().stream().filter((node) -> isLive(node, now)).toList();
	}

	@Override
	public synchronized void deregister(String nodeId) {
		this.nodes.remove(nodeId);
	}

	private Instant now() {
		return this.clock.instant().truncatedTo(ChronoUnit.MICROS);
	}

	private boolean isLive(Node node, Instant now) {
		return now.isBefore(node.lastHeartbeat().plus(this.livenessTtl));
	}

}
