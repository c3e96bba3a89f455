package io.github.fencedleadership.fencing;

import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Tests for {@link InMemoryFencingGuard}.
 */
class InMemoryFencingGuardTests extends FencingGuardContract {

	private final Map<String, Long> newest = new HashMap<>();

	@Override
	protected FencingGuard guard() {
		return new InMemoryFencingGuard();
	}

	@Override
	protected FencingGuard guardThatSeesLeases() {
		return new InMemoryFencingGuard((role) -> {
			Long token = this.newest.get(role);
			return (token != null) ? OptionalLong.of(token) : OptionalLong.empty();
		});
	}

	@Override
	protected FencingToken elect(String role) {
		return new FencingToken(role, this.newest.merge(role, 1L, Long::sum));
	}

}
