package io.github.fencedleadership.autoconfigure;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;

import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.LeaderWork;
import io.github.fencedleadership.election.RoleStatus;
import io.github.fencedleadership.election.RoleStatus.State;
import io.github.fencedleadership.lease.Roles;

/**
 * The elector of an application that is not to lead anything
 * ({@code fenced-leadership.enabled=false}): it knows the tasks, and never contends for
 * them. Gates stay closed.
 */
class DisabledLeaderElector implements LeaderElector, AutoCloseable {

	private final SortedMap<String, Integer> interests = new TreeMap<>();

	private final Instant since = Instant.now();

	private final CountDownLatch closed = new CountDownLatch(1);

	@Override
	public String ownerId() {
		throw new IllegalStateException("This node has no owner id: property 'fenced-leadership.enabled' is 'false'");
	}

	@Override
	public Registration register(LeaderTask task) {
		String role = task.role();
		synchronized (this.interests) {
			this.interests.merge(role, 1, Integer::sum);
		}
		AtomicBoolean open = new AtomicBoolean(true);
		return () -> {
			if (open.compareAndSet(true, false)) {
				synchronized (this.interests) {
					this.interests.computeIfPresent(role, (key, count) -> (count > 1) ? count - 1 : null);
				}
			}
		};
	}

	@Override
	public void run(String role, LeaderWork work) throws InterruptedException {
		Roles.validate(role);
		this.closed.await();
	}

	@Override
	public Optional<Scope> enter(String role) {
		return Optional.empty();
	}

	@Override
	public boolean stepDown(String role) {
		return false;
	}

	@Override
	public List<RoleStatus> statuses() {
		synchronized (this.interests) {
			return this.interests.keySet().stream().map(this::stopped).toList();
		}
	}

	@Override
	public Optional<RoleStatus> status(String role) {
		synchronized (this.interests) {
			return this.interests.containsKey(role) ? Optional.of(stopped(role)) : Optional.empty();
		}
	}

	private RoleStatus stopped(String role) {
		return new RoleStatus(role, State.STOPPED, this.since, "property 'fenced-leadership.enabled' is 'false'", null,
				Duration.ZERO);
	}

	@Override
	public void close() {
		this.closed.countDown();
	}

}
