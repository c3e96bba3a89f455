package io.github.fencedleadership.annotation;

import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.LeaderWork;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.election.LeadershipLostException;
import io.github.fencedleadership.election.RoleStatus;
import io.github.fencedleadership.election.RoleStatus.State;
import io.github.fencedleadership.fencing.FencingContext;
import io.github.fencedleadership.fencing.FencingToken;

/**
 * An elector that leads what a test tells it to, on the thread of the test.
 */
public class FakeLeaderElector implements LeaderElector {

	private final List<LeaderTask> tasks = new CopyOnWriteArrayList<>();

	private final List<String> events = new CopyOnWriteArrayList<>();

	private final Map<String, FakeLeadership> terms = new HashMap<>();

	private final Map<String, State> states = new HashMap<>();

	public List<LeaderTask> tasks() {
		return this.tasks;
	}

	public List<LeaderTask> tasks(String role) {
		return this.tasks.stream().filter((task) -> task.role().equals(role)).toList();
	}

	/**
	 * What happened, in order. Tests may add their own.
	 * @return the events
	 */
	public List<String> events() {
		return this.events;
	}

	public FakeLeadership lead(String role, long token) {
		FakeLeadership leadership = new FakeLeadership(new FencingToken(role, token));
		this.terms.put(role, leadership);
		return leadership;
	}

	public void lose(String role) {
		FakeLeadership leadership = this.terms.remove(role);
		if (leadership != null) {
			leadership.held = false;
		}
	}

	public void state(String role, State state) {
		this.states.put(role, state);
	}

	/**
	 * Run the only work of a role, as after an election.
	 * @param role the role
	 * @param token the token of the term
	 * @throws Exception what the work throws
	 */
	public void runWork(String role, long token) throws Exception {
		FakeLeadership leadership = lead(role, token);
		List<LeaderWork> works = tasks(role).stream().map(LeaderTask::work).filter((work) -> work != null).toList();
		for (LeaderWork work : works) {
			work.lead(leadership);
		}
	}

	@Override
	public String ownerId() {
		return "fake#1";
	}

	@Override
	public Registration register(LeaderTask task) {
		this.tasks.add(task);
		return () -> this.tasks.remove(task);
	}

	@Override
	public void run(String role, LeaderWork work) {
		throw new UnsupportedOperationException();
	}

	@Override
	public Optional<Scope> enter(String role) {
		FakeLeadership leadership = this.terms.get(role);
		if (leadership == null) {
			return Optional.empty();
		}
		this.events.add("enter " + role);
		FencingContext.Scope context = FencingContext.enter(leadership);
		return Optional.of(new Scope() {

			@Override
			public Leadership leadership() {
				return leadership;
			}

			@Override
			public void close() {
				context.close();
				FakeLeaderElector.this.events.add("leave " + role);
			}

		});
	}

	@Override
	public boolean stepDown(String role) {
		return false;
	}

	@Override
	public List<RoleStatus> statuses() {
		return this.tasks.stream()
			.map(LeaderTask::role)
			.distinct()
			.map((role) -> status(role).orElseThrow())
			.sorted(Comparator.comparing(RoleStatus::role))
			.toList();
	}

	@Override
	public Optional<RoleStatus> status(String role) {
		if (tasks(role).isEmpty()) {
			return Optional.empty();
		}
		FakeLeadership leadership = this.terms.get(role);
		State state = this.states.getOrDefault(role, (leadership != null) ? State.LEADING : State.STANDBY);
		@Nullable FencingToken token = (leadership != null) ? leadership.fencingToken() : null;
		return Optional.of(new RoleStatus(role, state, Instant.EPOCH, "because the test says so", token,
				(leadership != null) ? Duration.ofSeconds(20) : Duration.ZERO));
	}

	/**
	 * A term that lasts until the test ends it.
	 */
	public static final class FakeLeadership implements Leadership {

		private final FencingToken token;

		private volatile boolean held = true;

		private FakeLeadership(FencingToken token) {
			this.token = token;
		}

		public void end() {
			this.held = false;
		}

		@Override
		public String role() {
			return this.token.role();
		}

		@Override
		public FencingToken fencingToken() {
			return this.token;
		}

		@Override
		public boolean isActive() {
			return true;
		}

		@Override
		public boolean isHeld() {
			return this.held;
		}

		@Override
		public Duration remaining() {
			return this.held ? Duration.ofSeconds(20) : Duration.ZERO;
		}

		@Override
		public void requireHeld() throws LeadershipLostException {
			if (!this.held) {
				throw new LeadershipLostException(this.token);
			}
		}

		@Override
		public void progress() {
		}

		@Override
		public boolean await(Duration timeout) {
			return this.held;
		}

	}

}
