package io.github.fencedleadership.membership;

import java.time.Duration;
import java.time.Instant;

/**
 * Tests for {@link InMemoryNodeRegistry}.
 */
class InMemoryNodeRegistryTests extends NodeRegistryContract {

	private Instant now = Instant.parse("2026-03-29T00:59:59.123456Z");

	private final InMemoryNodeRegistry registry = new InMemoryNodeRegistry(() -> this.now, LIVENESS_TTL);

	@Override
	protected NodeRegistry registry() {
		return this.registry;
	}

	@Override
	protected void advance(Duration duration) {
		this.now = this.now.plus(duration);
	}

}
