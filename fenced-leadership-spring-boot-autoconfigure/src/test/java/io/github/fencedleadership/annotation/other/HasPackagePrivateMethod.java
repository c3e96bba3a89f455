package io.github.fencedleadership.annotation.other;

import io.github.fencedleadership.annotation.FencedLeader;

/**
 * Has a method that no class of another package can override.
 */
public class HasPackagePrivateMethod {

	@FencedLeader("role")
	void work() {
	}

}
