package io.github.fencedleadership.annotation;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Knows the {@link FencedLeader @FencedLeader} methods of an application context, and how
 * many calls their gates turned away.
 * <p>
 * Filled once all singletons are there. Thread-safe.
 */
public final class FencedLeaderMethodRegistry {

	private final List<FencedLeaderMethod> methods = new CopyOnWriteArrayList<>();

	private final SkippedCalls skippedCalls = new SkippedCalls();

	FencedLeaderMethodRegistry() {
	}

	/**
	 * Return the methods.
	 * @return the methods, in the order of their beans' registration
	 */
	public List<FencedLeaderMethod> getMethods() {
		return List.copyOf(this.methods);
	}

	/**
	 * Return how many calls of gated methods of a role were turned away since the start.
	 * @param role the role
	 * @return the number of calls, those {@link #getLeaderlessCalls(String) without a
	 * leader} included
	 */
	public long getSkippedCalls(String role) {
		return this.skippedCalls.all(role);
	}

	/**
	 * Return how many of the skipped calls fell while this node was not simply a standby:
	 * it had not begun to contend, was still draining, or had backed off, so that
	 * possibly nobody led. Nobody makes up for such a call.
	 * @param role the role
	 * @return the number of calls
	 */
	public long getLeaderlessCalls(String role) {
		return this.skippedCalls.leaderless(role);
	}

	void add(FencedLeaderMethod method) {
		this.methods.add(method);
	}

	SkippedCalls skippedCalls() {
		return this.skippedCalls;
	}

}
