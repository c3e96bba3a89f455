package io.github.fencedleadership.lease;

import java.time.Duration;
import java.time.Instant;

/**
 * Tests for {@link InMemoryLeaseStore}.
 */
class InMemoryLeaseStoreTests extends LeaseStoreContract {

	private Instant now = Instant.parse("2026-03-29T00:59:59.123456Z");

	private final InMemoryLeaseStore store = new InMemoryLeaseStore(() -> this.now);

	@Override
	protected LeaseStore store() {
		return this.store;
	}

	@Override
	protected void advance(Duration duration) {
		this.now = this.now.plus(duration);
	}

}
