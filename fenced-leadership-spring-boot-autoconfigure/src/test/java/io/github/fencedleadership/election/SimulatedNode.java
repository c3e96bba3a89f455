package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.election.ElectionCore.Interest;
import io.github.fencedleadership.election.ElectionCore.Round;
import io.github.fencedleadership.election.RoleStatus.State;
import io.github.fencedleadership.election.Simulation.Fault;
import io.github.fencedleadership.fencing.FencingToken;

/**
 * One process of a {@link Simulation}: the real core, and in the place of
 * {@link DefaultLeaderElector} and its threads something that does the same in virtual
 * time. It can be paused, suspended, killed, and stopped and started again.
 */
final class SimulatedNode {

	private final Simulation simulation;

	private final int index;

	private final String name;

	private final double rate;

	private final long bornAt;

	private final ElectionClock clock;

	private final ElectionCore core;

	private final Map<String, List<Interest>> interests = new HashMap<>();

	private final Map<ActiveWork, Work> works = new LinkedHashMap<>();

	private final Map<String, FencingToken> granted = new HashMap<>();

	private final Map<String, Revoked> revoked = new HashMap<>();

	private final Map<String, Long> newest = new HashMap<>();

	/** Since when a role is led although nobody may believe so any more. */
	private final Map<String, Long> overdueSince = new HashMap<>();

	private final List<Runnable> missed = new ArrayList<>();

	private List<Runnable> actions = new ArrayList<>();

	private String ownerId;

	private @Nullable Session session;

	private boolean alive = true;

	private boolean paused;

	private boolean suspended;

	private boolean stopping;

	private long pausedAt;

	private long suspendedFor;

	private long wallOffset;

	private long attentiveSince;

	/** Calls that are still to be carried out although nobody waits for them. */
	private int lateCalls;

	private long troubledAt = -1;

	/** When a call was carried out for which nobody waited any more. */
	private long surprisedAt = Long.MIN_VALUE / 2;

	private long callsFrom;

	private long calls;

	private long changes;

	SimulatedNode(Simulation simulation, int index) {
		this.simulation = simulation;
		this.index = index;
		this.name = "node-" + index;
		this.ownerId = this.name;
		this.bornAt = simulation.now();
		this.rate = drawRate();
		this.clock = simulation.sabotage().clock(new ElectionClock() {

			@Override
			public long nanos() {
				return monotonic();
			}

			@Override
			public long wallMillis() {
				return SimulatedNode.this.wallMillis();
			}

		});
		this.core = new ElectionCore(this.clock, simulation.random()::nextDouble, new Host(), this::settings,
				simulation.plan().drainTimeout()) {

			@Override
			RoleStateMachine machine(RoleTimes times) {
				return simulation.sabotage().machine(times);
			}

		};
		for (Simulation.Role role : simulation.plan().roles()) {
			register(role);
		}
	}

	private double drawRate() {
		if (this.simulation.strikes(Fault.SLOW_CLOCK, 0.4)) {
			this.simulation.happened(Fault.SLOW_CLOCK, this.name);
			return this.simulation.plan().slowestRate(this.index);
		}
		if (this.simulation.strikes(Fault.FAST_CLOCK, 0.4)) {
			this.simulation.happened(Fault.FAST_CLOCK, this.name);
			return 1.1;
		}
		return 1;
	}

	private RoleSettings settings(String role) {
		return this.simulation.plan().settings(role, this.index);
	}

	String name() {
		return this.name;
	}

	String ownerId() {
		return this.ownerId;
	}

	boolean isAlive() {
		return this.alive;
	}

	@Override
	public String toString() {
		return this.ownerId;
	}

	String describe(String role) {
		RoleStatus status = this.alive ? this.core.status(role) : null;
		return this.ownerId + ((status != null) ? " " + status.state() + ", " + status.reason() : " has no part in it");
	}

	// Clocks

	private long monotonic() {
		long until = this.suspended ? this.pausedAt : this.simulation.now();
		return (long) ((until - this.bornAt - this.suspendedFor) * this.rate);
	}

	long wallMillis() {
		return Simulation.ORIGIN.toEpochMilli() + (long) ((this.simulation.now() - this.bornAt) * this.rate) / 1_000_000
				+ this.wallOffset;
	}

	/**
	 * How long it takes until the clock shows an instant.
	 */
	private long until(long instant) {
		return Math.max(0, (long) Math.ceil((instant - this.clock.nanos()) / this.rate) + 1);
	}

	void stepWallClock(Fault fault, long millis) {
		if (this.alive) {
			this.simulation.happened(fault, this);
			this.wallOffset += millis;
		}
	}

	// Life

	void start() {
		if (!this.alive || this.session != null) {
			return;
		}
		this.ownerId = this.simulation.newOwnerId(this);
		this.stopping = false;
		this.attentiveSince = this.simulation.now();
		this.simulation.trace(() -> "%s starts, its clock at a rate of %s".formatted(this, this.rate));
		locked(() -> {
			this.core.start(this.ownerId);
			this.session = new Session();
		});
		later(this.simulation.upTo(Simulation.ms(50)), () -> {
			if (!this.stopping) {
				locked(this.core::contend);
			}
		});
	}

	void stop(boolean exit) {
		Session stopped = this.session;
		if (!this.alive || this.stopping || stopped == null) {
			return;
		}
		this.simulation.happened(Fault.STOP, this);
		this.stopping = true;
		later(0, () -> {
			long stoppedAt = this.simulation.now();
			locked(this.core::stop);
			awaitDrained(stopped, stoppedAt, exit);
		});
	}

	private void awaitDrained(Session stopped, long stoppedAt, boolean exit) {
		long left = this.core.drainLeft(settings("a").renewInterval().toNanos());
		if (left > 0) {
			stopped.drained.park(this.clock.nanos() + left, () -> awaitDrained(stopped, stoppedAt, exit));
			return;
		}
		if (this.core.isStopped()) {
			this.simulation.checks()
				.stoppedCleanly(this, this.lateCalls > 0 || this.troubledAt >= stoppedAt
						|| this.surprisedAt > stoppedAt - this.simulation.plan().longestTtl());
		}
		if (!this.works.isEmpty()) {
			this.simulation.happened(Fault.STOP_LEFT_WORK_BEHIND, this);
		}
		locked(() -> {
			this.core.abandon();
			this.session = null;
			stopped.end();
		});
		if (!this.granted.isEmpty()) {
			throw this.simulation.violation("G4: %s has stopped and not revoked %s".formatted(this, this.granted));
		}
		this.simulation.trace(() -> this + " has stopped");
		if (exit) {
			die();
		}
		else {
			later(this.simulation.upToTtls(1), () -> {
				this.simulation.happened(Fault.START_AFTER_STOP, this);
				start();
			});
		}
	}

	void die() {
		this.alive = false;
		this.works.clear();
		this.granted.clear();
		this.simulation.checks().disturbed(Fault.KILL);
		this.simulation.startLater(this.index, this.simulation.plan().longestTtl());
	}

	void pause(long duration) {
		if (this.alive && !this.paused) {
			this.simulation.happened(Fault.PAUSE, this + " for " + Duration.ofNanos(duration));
			halt(duration);
		}
	}

	/**
	 * As {@link #pause}, but the monotonic clock stands still meanwhile.
	 */
	void suspend(long duration) {
		if (this.alive && !this.paused) {
			this.simulation.happened(Fault.SUSPENSION, this + " for " + Duration.ofNanos(duration));
			halt(duration);
			this.suspended = true;
		}
	}

	private void halt(long duration) {
		this.paused = true;
		this.pausedAt = this.simulation.now();
		long began = this.pausedAt;
		this.simulation.at(began + duration, () -> {
			if (this.pausedAt == began) {
				resume();
			}
		});
	}

	void resume() {
		if (!this.paused || !this.alive) {
			return;
		}
		this.simulation.trace(() -> this + " resumes");
		this.simulation.checks().disturbed(Fault.PAUSE);
		this.paused = false;
		if (this.suspended) {
			this.suspendedFor += this.simulation.now() - this.pausedAt;
			this.suspended = false;
		}
		this.attentiveSince = this.simulation.now();
		List<Runnable> all = new ArrayList<>(this.missed);
		this.missed.clear();
		// Which thread comes first after a pause is anybody's guess.
		Collections.shuffle(all, this.simulation.random());
		all.forEach((action) -> later(this.simulation.upTo(Simulation.ms(5)), action));
	}

	/**
	 * Do something on this node, as soon as it runs.
	 */
	private void later(long delay, Runnable action) {
		this.simulation.at(this.simulation.now() + delay, () -> {
			if (this.paused) {
				this.missed.add(action);
			}
			else if (this.alive) {
				action.run();
			}
		});
	}

	private long lateness() {
		return this.simulation.upTo(this.simulation.chance(0.02) ? Simulation.MAX_LATENESS : Simulation.ms(1));
	}

	private long latency() {
		return this.simulation.upTo(Simulation.MAX_LATENCY);
	}

	/**
	 * As the elector does it: change under the lock, then wake up whoever may have a
	 * reason to look again, then do what was decided.
	 */
	private void locked(Runnable change) {
		change.run();
		Session current = this.session;
		boolean changed = this.core.takeChanged();
		if (current != null) {
			if (changed) {
				current.store.signal();
				current.timer.signal();
			}
			current.drained.signal();
		}
		List<Runnable> decided = this.actions;
		this.actions = new ArrayList<>();
		decided.forEach(Runnable::run);
	}

	// Interest

	private void register(Simulation.Role role) {
		List<Interest> registered = new ArrayList<>();
		for (int i = 0; i < role.works(); i++) {
			registered.add(this.core.register(LeaderTask.of(role.name(), (leadership) -> {
			})));
		}
		if (role.works() == 0) {
			registered.add(this.core.register(LeaderTask.holding(role.name())));
		}
		this.interests.put(role.name(), registered);
		// A node remembers the tokens of a role for as long as it contends for it.
		this.newest.remove(role.name());
	}

	void unregister(String role) {
		if (!this.alive) {
			return;
		}
		later(0, () -> {
			List<Interest> gone = this.interests.remove(role);
			if (gone != null) {
				this.simulation.happened(Fault.UNREGISTRATION, this + " " + role);
				gone.forEach((interest) -> locked(() -> this.core.unregister(interest)));
				later(this.simulation.upToTtls(1),
						() -> locked(() -> register(this.simulation.plan()
							.roles()
							.stream()
							.filter((it) -> it.name().equals(role))
							.findFirst()
							.orElseThrow())));
				this.changes++;
			}
		});
	}

	void stepDown(String role) {
		if (!this.alive) {
			return;
		}
		later(0, () -> locked(() -> {
			if (this.core.stepDown(role)) {
				this.simulation.happened(Fault.STEP_DOWN, this + " " + role);
			}
		}));
	}

	void vacated(String role) {
		this.changes++;
		later(latency(), () -> locked(() -> this.core.vacated(Set.of(role))));
	}

	void enter(String role) {
		if (!this.alive) {
			return;
		}
		later(0, () -> locked(() -> {
			ActiveWork work = this.core.enter(role);
			if (work != null) {
				this.actions.add(() -> {
					this.simulation.happened(Fault.ENTRY, this + " " + role);
					Work entered = new Work(work);
					this.works.put(work, entered);
					entered.enter();
				});
			}
		}));
	}

	// For the checks

	boolean believes(String role) {
		if (!this.alive || this.suspended || !this.granted.containsKey(role)) {
			return false;
		}
		RoleStatus status = this.core.status(role);
		return status != null && status.state() == State.LEADING && !status.remaining().isZero();
	}

	FencingToken granted(String role) {
		return this.granted.get(role);
	}

	boolean isWorking(String role, long token, String owner) {
		return this.alive && this.works.values()
			.stream()
			.anyMatch((work) -> work.running && work.active.role().equals(role)
					&& work.active.fencingToken().value() == token && work.active.term().ownerId().equals(owner));
	}

	private boolean isWorking(String role) {
		return this.works.values().stream().anyMatch((work) -> work.running && work.active.role().equals(role));
	}

	boolean isWilling(String role) {
		Session current = this.session;
		if (!this.alive || this.paused || current == null || this.stopping || current.hanging) {
			return false;
		}
		RoleStatus status = this.core.status(role);
		return status != null && (status.state() == State.STANDBY || status.state() == State.LEADING);
	}

	/**
	 * Return the term whose work drains, with its lease to be kept meanwhile.
	 */
	@Nullable Revoked draining(String role) {
		Revoked last = this.revoked.get(role);
		Session current = this.session;
		return (this.alive && !this.paused && current != null && last != null && last.keepsLease()
				&& last.ownerId().equals(this.ownerId) && isWorking(role, last.token(), this.ownerId)
				&& this.clock.nanos() < last.at() + this.simulation.plan().drainTimeout().toNanos()) ? last : null;
	}

	/**
	 * Whatever happens, a node that is not held up notices in time.
	 */
	void check() {
		if (this.paused) {
			return;
		}
		long now = this.simulation.now();
		boolean attentive = now - this.attentiveSince > 2 * Simulation.MAX_LATENESS;
		if (this.simulation.plan().watchfulness() == 1) {
			for (String role : this.granted.keySet()) {
				if (believes(role)) {
					this.overdueSince.remove(role);
				}
				else if (now
						- Math.max(this.attentiveSince, this.overdueSince.computeIfAbsent(role, (key) -> now)) > until(
								this.clock.nanos() + Duration.ofSeconds(1).toNanos()) + 2 * Simulation.MAX_LATENESS) {
					throw this.simulation
						.violation("G4: %s has not revoked %s in time".formatted(this, this.granted.get(role)));
				}
			}
		}
		for (Work work : this.works.values()) {
			if (work.running) {
				work.check(attentive);
			}
		}
	}

	private void checkRequests(StoreCall.RequestLeases call) {
		for (Round.LeaseCall lease : call.calls()) {
			String role = lease.request().role();
			OptionalLong held = lease.request().heldToken();
			if (held.isEmpty()) {
				if (isWorking(role)) {
					throw this.simulation
						.violation("G6: %s asks for '%s' while its work of an earlier term runs".formatted(this, role));
				}
				continue;
			}
			FencingToken current = this.granted.get(role);
			Revoked last = this.revoked.get(role);
			boolean leads = current != null && current.value() == held.getAsLong();
			boolean drains = last != null && last.token() == held.getAsLong() && last.keepsLease()
					&& this.clock.nanos() < last.at() + this.simulation.plan().drainTimeout().toNanos();
			if (!leads && !drains) {
				throw this.simulation
					.violation("G4: %s renews %s#%d although %s".formatted(this, role, held.getAsLong(), last));
			}
		}
	}

	/**
	 * However it goes, the store is left alone between two calls.
	 */
	private void countCall() {
		long window = 2 * this.simulation.plan().longestTtl();
		long now = this.simulation.now();
		if (now - this.callsFrom > window) {
			this.callsFrom = now;
			this.calls = 0;
			this.changes = 0;
		}
		this.calls++;
		double limit = 20 + 4 * this.changes;
		for (Simulation.Role role : this.simulation.plan().roles()) {
			limit += 1.2 * window / (settings(role.name()).standbyPollInterval().toNanos() / 4.0);
		}
		if (this.calls > limit) {
			throw this.simulation.violation("G11: %s has called the store %d times in '%s'".formatted(this, this.calls,
					Duration.ofNanos(now - this.callsFrom)));
		}
	}

	/**
	 * A term that is over.
	 *
	 * @param at when it ended, by the clock of the node
	 */
	record Revoked(String ownerId, long token, RevocationReason reason, long at) {

		boolean keepsLease() {
			return this.reason == RevocationReason.STEPPED_DOWN || this.reason == RevocationReason.STOPPED
					|| this.reason == RevocationReason.WORK_FAILED;
		}

	}

	/**
	 * What happens between a start and a stop: one thread that talks to the store, and
	 * one that watches the deadlines.
	 */
	private final class Session {

		private final StoreDialogue dialogue = new StoreDialogue(SimulatedNode.this.ownerId, SimulatedNode.this.core,
				SimulatedNode.this.clock, SimulatedNode.this.simulation.random()::nextDouble,
				SimulatedNode.this.simulation.plan().callBound() / 2,
				SimulatedNode.this.simulation.plan().longestTtl() / 3);

		private final Parking store = new Parking();

		private final Parking timer = new Parking();

		private final Parking drained = new Parking();

		private boolean ended;

		private boolean hanging;

		Session() {
			later(lateness(), this::talkToStore);
			later(lateness(), this::watchDeadlines);
		}

		void end() {
			this.ended = true;
			this.store.signal();
			this.timer.signal();
		}

		private void watchDeadlines() {
			if (!this.ended) {
				this.timer.park(SimulatedNode.this.core.nextTimer(), () -> {
					if (!this.ended) {
						locked(SimulatedNode.this.core::tick);
						watchDeadlines();
					}
				});
			}
		}

		private void talkToStore() {
			if (this.ended) {
				return;
			}
			locked(() -> {
				StoreDialogue.Turn turn = this.dialogue.nextTurn();
				if (turn != null) {
					SimulatedNode.this.actions.add(() -> take(new ArrayDeque<>(turn.calls()), turn.heartbeat()));
				}
				else {
					this.store.park(this.dialogue.nextInstant(), this::talkToStore);
				}
			});
		}

		private void take(Deque<StoreCall> todo, boolean heartbeat) {
			StoreCall call = todo.poll();
			if (call != null) {
				new Exchange(this, call, () -> take(todo, heartbeat)).begin();
			}
			else if (heartbeat && SimulatedNode.this.simulation.strikes(Fault.REGISTRY_HANGS, 0.01)) {
				SimulatedNode.this.simulation.happened(Fault.REGISTRY_HANGS, SimulatedNode.this);
				this.hanging = true;
				later(SimulatedNode.this.simulation.upToTtls(1.2), () -> {
					this.hanging = false;
					SimulatedNode.this.simulation.checks().disturbed(Fault.REGISTRY_HANGS);
					talkToStore();
				});
			}
			else {
				later(heartbeat ? latency() : 0, this::talkToStore);
			}
		}

		/**
		 * Something failed that nobody expects to fail.
		 */
		private void recover() {
			later(Simulation.ms(100), () -> {
				locked(() -> {
					if (!this.ended) {
						this.dialogue.forget();
					}
				});
				talkToStore();
			});
		}

	}

	/**
	 * A thread that waits for an instant, or for being told to look again.
	 */
	private final class Parking {

		private long round;

		private @Nullable Runnable parked;

		void park(long instant, Runnable then) {
			this.parked = then;
			long current = ++this.round;
			if (instant < RoleState.NEVER / 4) {
				later(until(instant) + lateness(), () -> wake(current));
			}
		}

		void signal() {
			if (this.parked != null) {
				long current = this.round;
				later(lateness(), () -> wake(current));
			}
		}

		private void wake(long current) {
			Runnable then = this.parked;
			if (current == this.round && then != null) {
				this.parked = null;
				then.run();
			}
		}

	}

	/**
	 * A call and its answer, and what the network and the store do to them.
	 */
	private final class Exchange {

		private final Session session;

		private final StoreCall call;

		private final Runnable next;

		private final Simulation simulation = SimulatedNode.this.simulation;

		private boolean incomplete;

		private boolean over;

		Exchange(Session session, StoreCall call, Runnable next) {
			this.session = session;
			this.call = call;
			this.next = next;
		}

		void begin() {
			countCall();
			if (this.call instanceof StoreCall.RequestLeases request) {
				checkRequests(request);
			}
			this.simulation.trace(() -> SimulatedNode.this + " asks: " + describe());
			Fault fault = this.simulation.drawFaultOfCall();
			if (fault == null) {
				atStore(latency(), (answer) -> later(latency(), () -> finish(answer)));
				return;
			}
			this.simulation.happened(fault, SimulatedNode.this);
			trouble();
			begin(fault, this.simulation.plan().callBound());
		}

		private void begin(Fault fault, long bound) {
			switch (fault) {
				case CALL_SLOW -> atStore(this.simulation.upTo(bound / 2),
						(answer) -> later(this.simulation.upTo(bound / 2), () -> finish(answer)));
				case CALL_HANGS -> {
					this.session.hanging = true;
					long duration = this.simulation.upToTtls(3);
					boolean early = this.simulation.random().nextBoolean();
					boolean answered = this.simulation.random().nextBoolean();
					atStore(early ? latency() : duration, (answer) -> later(early ? duration : latency(), () -> {
						this.session.hanging = false;
						finish(answered ? answer : null);
					}));
				}
				case REQUEST_LOST -> later(bound, () -> finish(null));
				case REQUEST_DELAYED -> {
					later(bound, () -> finish(null));
					atStore(this.simulation.upToTtls(2), (answer) -> later(latency(), () -> stray(answer)));
				}
				case REQUEST_DUPLICATED -> {
					atStore(latency(), (answer) -> later(latency(), () -> finish(answer)));
					atStore(this.simulation.upToTtls(2), (answer) -> {
					});
				}
				case REPLY_LOST -> {
					later(bound, () -> finish(null));
					atStore(latency(), (answer) -> {
					});
				}
				case REPLY_DELAYED -> {
					later(bound, () -> finish(null));
					atStore(latency(), (answer) -> later(bound + this.simulation.upToTtls(1.5), () -> stray(answer)));
				}
				case REPLY_DUPLICATED -> atStore(latency(), (answer) -> {
					later(latency(), () -> finish(answer));
					later(latency() + this.simulation.upToTtls(1.5), () -> stray(answer));
				});
				case REPLY_INCOMPLETE -> {
					this.incomplete = true;
					atStore(latency(), (answer) -> later(latency(), () -> finish(answer)));
				}
				case THROWN_BEFORE -> later(latency(), () -> finish(null));
				case THROWN_AFTER -> atStore(latency(), (answer) -> later(latency(), () -> finish(null)));
				case THREAD_FAILED -> atStore(latency(), (answer) -> later(latency(), this.session::recover));
				default -> throw new IllegalStateException("Not a fault of a call: " + fault);
			}
		}

		private String describe() {
			return (this.call instanceof StoreCall.RequestLeases request)
					? request.calls()
						.stream()
						.map((it) -> (it.request().heldToken().isPresent() ? "renew " : "acquire ")
								+ it.request().role() + "/" + it.requestId())
						.toList()
						.toString()
					: ((StoreCall.ReleaseLeases) this.call).calls()
						.stream()
						.map((it) -> "release " + it.role() + it.token() + "/" + it.requestId())
						.toList()
						.toString();
		}

		private static String describe(StoreCall.Answer answer) {
			return answer.leaseResults()
				.stream()
				.map((it) -> it.outcome() + " " + it.role() + "#" + it.fencingToken())
				.toList()
				.toString();
		}

		private void trouble() {
			SimulatedNode.this.troubledAt = this.simulation.now();
		}

		/**
		 * At the store, nobody knows whether the node still lives.
		 */
		private void atStore(long delay, Outcome outcome) {
			SimulatedNode.this.lateCalls++;
			this.simulation.at(this.simulation.now() + delay, () -> {
				SimulatedNode.this.lateCalls--;
				if (this.over && isReadBack()) {
					// What is read back comes to nobody, who would release it.
					return;
				}
				if (this.over) {
					this.simulation.checks().disturbed(Fault.REQUEST_DELAYED);
					SimulatedNode.this.surprisedAt = this.simulation.now();
				}
				StoreCall.Answer answer;
				try {
					answer = this.simulation.carryOut(this.call, this.incomplete);
				}
				catch (IllegalStateException ex) {
					trouble();
					answer = null;
				}
				outcome.of(answer);
			});
		}

		private boolean isReadBack() {
			return this.call instanceof StoreCall.ReleaseLeases release
					&& release.calls().stream().anyMatch((it) -> it.token().isEmpty());
		}

		/**
		 * The call returns, or throws.
		 */
		private void finish(StoreCall.@Nullable Answer answer) {
			this.over = true;
			this.simulation.trace(() -> "%s is answered: %s %s".formatted(SimulatedNode.this, describe(),
					(answer != null) ? describe(answer) : "failed"));
			locked(() -> {
				if (answer != null) {
					this.session.dialogue.answered(answer);
				}
				else {
					trouble();
					this.session.dialogue.failed(this.call);
				}
			});
			this.next.run();
		}

		/**
		 * An answer for which nobody waits. A blocking call has none, but the core should
		 * know better all the same.
		 */
		private void stray(StoreCall.@Nullable Answer answer) {
			if (answer != null) {
				this.simulation.happened(Fault.REPLY_OVERTAKEN, SimulatedNode.this);
				locked(() -> answer.tell(SimulatedNode.this.core));
			}
		}

	}

	/**
	 * What is done with an answer, {@code null} if there is none.
	 */
	private interface Outcome {

		void of(StoreCall.@Nullable Answer answer);

	}

	private final class Host implements ElectionCore.Host {

		@Override
		public void start(ActiveWork work) {
			SimulatedNode.this.actions.add(() -> {
				if (SimulatedNode.this.simulation.strikes(Fault.NO_THREAD, 0.02)) {
					SimulatedNode.this.simulation.happened(Fault.NO_THREAD, SimulatedNode.this);
					locked(() -> SimulatedNode.this.core.workEnded(work, new OutOfMemoryError("simulated")));
					return;
				}
				Work started = new Work(work);
				SimulatedNode.this.works.put(work, started);
				later(lateness(), started::begin);
			});
		}

		@Override
		public void interrupt(ActiveWork work) {
			SimulatedNode.this.actions.add(() -> {
				work.interrupt();
				Thread.interrupted();
				Work told = SimulatedNode.this.works.get(work);
				if (told != null) {
					told.interrupted();
				}
			});
		}

		@Override
		public void granted(FencingToken token, Duration ttl) {
			SimulatedNode.this.changes++;
			SimulatedNode.this.simulation.trace(() -> SimulatedNode.this + " is granted " + token);
			FencingToken before = SimulatedNode.this.granted.putIfAbsent(token.role(), token);
			if (before != null) {
				throw SimulatedNode.this.simulation
					.violation("G4: %s is granted %s and has %s".formatted(SimulatedNode.this, token, before));
			}
			Long newest = SimulatedNode.this.newest.put(token.role(), token.value());
			if (newest != null && newest >= token.value()) {
				throw SimulatedNode.this.simulation
					.violation("G1: %s is granted %s and has had #%d".formatted(SimulatedNode.this, token, newest));
			}
			SimulatedNode.this.overdueSince.remove(token.role());
		}

		@Override
		public void revoked(FencingToken token, RevocationReason reason, @Nullable String detail) {
			SimulatedNode.this.changes++;
			SimulatedNode.this.simulation
				.trace(() -> "%s: %s is revoked, %s".formatted(SimulatedNode.this, token, reason));
			if (!token.equals(SimulatedNode.this.granted.remove(token.role()))) {
				throw SimulatedNode.this.simulation
					.violation("G4: %s of %s is revoked and was not granted".formatted(token, SimulatedNode.this));
			}
			SimulatedNode.this.revoked.put(token.role(),
					new Revoked(SimulatedNode.this.ownerId, token.value(), reason, SimulatedNode.this.clock.nanos()));
		}

		@Override
		public void stalled(ActiveWork work, Duration silence) {
			SimulatedNode.this.simulation
				.trace(() -> "%s: work of %s is stuck".formatted(SimulatedNode.this, work.fencingToken()));
		}

		@Override
		public void silent(ActiveWork work, Duration silence) {
		}

	}

	/**
	 * A piece of work, with a will of its own.
	 */
	private final class Work {

		private final ActiveWork active;

		private final Simulation simulation = SimulatedNode.this.simulation;

		private boolean running;

		private boolean ended;

		private boolean stuck;

		private boolean stubborn;

		private boolean told;

		private long lastProgress;

		Work(ActiveWork active) {
			this.active = active;
		}

		/**
		 * Begin as a thread of its own.
		 */
		void begin() {
			boolean begins = this.active.begin() && this.active.isHeld();
			this.running = true;
			if (!begins) {
				end(null);
				return;
			}
			checkOverlap();
			drawManner();
			loop();
		}

		/**
		 * Begin in a thread that is somebody else's.
		 */
		void enter() {
			boolean begins = this.active.begin();
			this.running = true;
			checkOverlap();
			if (!begins) {
				interrupted();
			}
			drawManner();
			later(this.simulation.upTo(Simulation.ms(1000)), () -> {
				if (!this.stuck && !this.stubborn) {
					end(null);
				}
			});
			loop();
		}

		private void checkOverlap() {
			SimulatedNode.this.works.values().forEach((other) -> {
				if (other.running && other.active.role().equals(this.active.role())
						&& other.active.term() != this.active.term()) {
					throw this.simulation.violation("G6: %s begins work of %s while that of %s runs"
						.formatted(SimulatedNode.this, this.active.fencingToken(), other.active.fencingToken()));
				}
			});
		}

		private void drawManner() {
			if (this.simulation.strikes(Fault.WORK_IGNORES_INTERRUPT, 0.15)) {
				this.simulation.happened(Fault.WORK_IGNORES_INTERRUPT, this.active.fencingToken());
				this.stubborn = true;
			}
			else if (this.simulation.strikes(Fault.WORK_THROWS, 0.15)) {
				endsWith(Fault.WORK_THROWS, new IllegalStateException("simulated"));
			}
			else if (this.simulation.strikes(Fault.WORK_RETURNS, 0.1)) {
				endsWith(Fault.WORK_RETURNS, null);
			}
			else if (this.simulation.strikes(Fault.WORK_STALLS, 0.15)) {
				later(this.simulation.upToTtls(1), () -> {
					if (!this.ended) {
						this.simulation.happened(Fault.WORK_STALLS, this.active.fencingToken());
						this.stuck = true;
						this.stubborn = this.simulation.random().nextBoolean();
						if (this.told) {
							endLater();
						}
					}
				});
			}
		}

		private void endsWith(Fault fault, @Nullable Throwable failure) {
			later(this.simulation.upToTtls(1), () -> {
				if (!this.ended) {
					this.simulation.happened(fault, this.active.fencingToken());
					end(failure);
				}
			});
		}

		private void loop() {
			if (this.ended || this.stuck) {
				return;
			}
			if (this.active.isHeld() || this.stubborn) {
				this.lastProgress = SimulatedNode.this.clock.nanos();
				this.active.progress();
				later(this.simulation.upTo(Simulation.ms(400)), this::loop);
			}
			else {
				end(null);
			}
		}

		void interrupted() {
			if (!this.told) {
				this.told = true;
				endLater();
			}
		}

		private void endLater() {
			long drain = this.simulation.plan().drainTimeout().toNanos();
			long most = this.stubborn ? 3 * this.simulation.plan().longestTtl() + drain
					: this.simulation.chance(0.3) ? drain / 2 : Simulation.ms(200);
			later(this.simulation.upTo(most), () -> end(null));
		}

		private void end(@Nullable Throwable failure) {
			if (this.ended) {
				return;
			}
			this.ended = true;
			this.running = false;
			SimulatedNode.this.works.remove(this.active);
			this.active.finish();
			Thread.interrupted();
			locked(() -> SimulatedNode.this.core.workEnded(this.active, failure));
		}

		void check(boolean attentive) {
			Term term = this.active.term();
			FencingToken current = SimulatedNode.this.granted.get(term.token().role());
			if (!term.token().equals(current)) {
				if (term.isHeld()) {
					throw this.simulation.violation(
							"G3: %s believes in %s, which was revoked".formatted(SimulatedNode.this, term.token()));
				}
				return;
			}
			Duration stallTimeout = settings(term.token().role()).stallTimeout();
			long silence = SimulatedNode.this.clock.nanos() - this.lastProgress;
			if (attentive && stallTimeout != null && silence > stallTimeout.toNanos()
					+ 1.2 * (Duration.ofSeconds(1).toNanos() + 2 * Simulation.MAX_LATENESS)) {
				throw this.simulation.violation("G12: %s has kept %s although its work is stuck for '%s'"
					.formatted(SimulatedNode.this, term.token(), Duration.ofNanos(silence)));
			}
		}

	}

}
