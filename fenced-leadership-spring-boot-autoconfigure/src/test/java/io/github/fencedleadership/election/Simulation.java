package io.github.fencedleadership.election;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.election.ElectionCore.Round;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;

/**
 * Several nodes and one store in virtual time, with everything that may go wrong, decided
 * by one seed. The nodes are the real {@link ElectionCore}, the store is the real
 * {@link InMemoryLeaseStore}; what is simulated is what lies around them: threads that
 * are late, a network, clocks, processes and work.
 * <p>
 * After every step the {@link Ledger} compares what has happened with the guarantees. It
 * is told by the store and by the nodes, and shares no code with either.
 */
final class Simulation {

	static final Duration DRAIN_TIMEOUT = Duration.ofSeconds(3);

	/** How late a thread that is not paused may be. */
	private static final long MAX_LATENESS = ms(60);

	/** For how long a node waits for an answer of the store. */
	private static final long CALL_TIMEOUT = ms(400);

	private static final long FAULTS_UNTIL = Duration.ofSeconds(90).toNanos();

	private static final Instant ORIGIN = Instant.parse("2026-10-25T00:30:00Z");

	private static final int NODES = 4;

	/** Two of one rhythm, and one of another with work that must not get stuck. */
	private static final Map<String, RoleSettings> ROLES = Map.of("fast", RoleSettings.of(Duration.ofSeconds(3)),
			"gated", RoleSettings.of(Duration.ofSeconds(3)), "watched",
			RoleSettings.of(Duration.ofSeconds(8), null, null, null, Duration.ofSeconds(5)));

	private static final List<String> ROLE_NAMES = ROLES.keySet().stream().sorted().toList();

	private final long seed;

	private final Random random;

	private final Sabotage sabotage;

	private final double clockSkew;

	private final PriorityQueue<Step> steps = new PriorityQueue<>();

	private final Map<Fault, Integer> faults = new EnumMap<>(Fault.class);

	private final Deque<String> trace = new ArrayDeque<>();

	private final List<Node> nodes = new ArrayList<>();

	private final Ledger ledger = new Ledger();

	private final InMemoryLeaseStore store;

	private long now;

	private long sequence;

	private long stepCount;

	private long storeClockOffset;

	private boolean storeDown;

	private int incarnations;

	Simulation(long seed, Sabotage sabotage) {
		this(seed, sabotage, 0.03);
	}

	/**
	 * Create a simulation.
	 * @param seed decides everything
	 * @param sabotage what is broken on purpose
	 * @param clockSkew by how much the rate of a node's clock may differ from the store's
	 */
	Simulation(long seed, Sabotage sabotage, double clockSkew) {
		this.seed = seed;
		this.random = new Random(seed * 0x9E3779B97F4A7C15L);
		this.sabotage = sabotage;
		this.clockSkew = clockSkew;
		this.store = new InMemoryLeaseStore(new InstantSource() {

			@Override
			public Instant instant() {
				return Simulation.this.storeTime();
			}

		});
	}

	static long ms(long millis) {
		return millis * 1_000_000;
	}

	/**
	 * Run until the end, with faults at first and without in the end.
	 * @return what has happened
	 * @throws Violation if a guarantee was broken
	 */
	Report run() {
		for (int i = 0; i < NODES; i++) {
			Node node = new Node("node-" + i);
			this.nodes.add(node);
			at(this.random.nextLong(ms(2000)), node::start);
		}
		scheduleFault();
		boolean healed = false;
		long end = FAULTS_UNTIL + calm();
		while (this.now < end) {
			if (!healed && this.now >= FAULTS_UNTIL) {
				healed = true;
				heal();
			}
			Step step = this.steps.poll();
			if (step == null) {
				break;
			}
			this.now = Math.max(this.now, step.at());
			this.stepCount++;
			step.action().run();
			checkBelief();
		}
		checkProgress();
		return new Report(this.stepCount, this.ledger.grants, this.faults);
	}

	/**
	 * How long it takes without faults until every role is led: the longest lease, the
	 * longest back-off, a drain and a release.
	 */
	private static long calm() {
		long ttl = ROLES.values().stream().mapToLong((it) -> it.leaseTtl().toNanos()).max().orElseThrow();
		return 5 * ttl + 2 * DRAIN_TIMEOUT.toNanos();
	}

	private Instant storeTime() {
		return ORIGIN.plusNanos(this.now + this.storeClockOffset).truncatedTo(ChronoUnit.MICROS);
	}

	private void at(long when, Runnable action) {
		this.steps.add(new Step(Math.max(when, this.now), this.sequence++, action));
	}

	private void log(String line) {
		this.trace.addLast("%10.3f %s".formatted(this.now / 1e9, line));
		if (this.trace.size() > 120) {
			this.trace.removeFirst();
		}
	}

	private Violation violation(String what) {
		return new Violation("%s%n%s%nReplay: -Dtest=SimulationTests -Dsimulation.seed=%d".formatted(what,
				String.join("\n", this.trace), this.seed));
	}

	private boolean faulty() {
		return this.now < FAULTS_UNTIL;
	}

	private boolean chance(double probability) {
		return this.random.nextDouble() < probability;
	}

	private void happened(Fault fault, String detail) {
		this.faults.merge(fault, 1, Integer::sum);
		log("-- " + fault + " " + detail);
	}

	// Faults

	private void scheduleFault() {
		at(this.now + ms(200) + this.random.nextLong(ms(3000)), () -> {
			if (faulty()) {
				inject();
				scheduleFault();
			}
		});
	}

	private void inject() {
		Node node = this.nodes.get(this.random.nextInt(NODES));
		switch (this.random.nextInt(10)) {
			case 0, 1 -> node.pause(this.random.nextLong(ms(12_000)));
			case 2 -> node.kill();
			case 3 -> node.stop();
			case 4 -> node.stepDown(ROLE_NAMES.get(this.random.nextInt(ROLE_NAMES.size())));
			case 5 -> {
				long step = (this.random.nextBoolean() ? 1 : -1) * this.random.nextLong(7_200_000);
				happened((step > 0) ? Fault.WALL_CLOCK_FORWARD : Fault.WALL_CLOCK_BACK, node.name);
				node.wallOffset += step;
				node.clock.takeStep(step);
				node.wakeUp(0);
			}
			case 6 -> {
				happened(Fault.STORE_CLOCK_BACK, "");
				this.storeClockOffset -= this.random.nextLong(ms(1500));
			}
			case 7 -> {
				happened(Fault.STORE_DOWN, "");
				this.storeDown = true;
				at(this.now + this.random.nextLong(ms(6000)), () -> this.storeDown = false);
			}
			case 8 -> node.tellReleases();
			default -> node.enter("gated");
		}
	}

	private void heal() {
		log("-- no more faults");
		this.storeDown = false;
		for (Node node : this.nodes) {
			node.resume();
			node.cure();
			if (!node.alive) {
				node.start();
			}
		}
	}

	// Checks

	private void checkBelief() {
		for (Node node : this.nodes) {
			if (node.alive) {
				node.check();
			}
		}
		for (String role : ROLE_NAMES) {
			// Looking is what ends belief, so do not always look.
			if (chance(0.3)) {
				List<Term> held = this.nodes.stream()
					.flatMap((node) -> node.term(role).stream())
					.filter(Term::isHeld)
					.toList();
				held.forEach(this.ledger::checkHeld);
				if (held.size() > 1) {
					throw violation("G3: two processes believe to hold '%s'".formatted(role));
				}
			}
		}
	}

	private void checkProgress() {
		for (String role : ROLE_NAMES) {
			List<String> leaders = this.nodes.stream()
				.filter((node) -> node.term(role).filter(Term::isHeld).isPresent())
				.map((node) -> node.name)
				.toList();
			if (leaders.size() != 1) {
				throw violation("progress: role '%s' is led by %s after a time without faults: %s".formatted(role,
						leaders, this.nodes.stream().map((node) -> node.name + " " + node.state(role)).toList()));
			}
		}
		for (Node node : this.nodes) {
			// A poll interval is 200 ms, and what failed is tried again after 50 to 75
			// ms.
			long limit = (FAULTS_UNTIL + calm()) / ms(50);
			if (node.calls > limit) {
				throw violation(
						"G11: %s has called the store %d times, more than %d".formatted(node.name, node.calls, limit));
			}
		}
	}

	/**
	 * What has gone wrong on purpose, and how often.
	 */
	enum Fault {

		PAUSE, KILL, STOP, STEP_DOWN, FALSE_NOTIFICATION, RESTART, WALL_CLOCK_FORWARD, WALL_CLOCK_BACK,
		STORE_CLOCK_BACK, STORE_DOWN, REQUEST_LOST, REQUEST_DELAYED, REPLY_LOST, REPLY_DELAYED, REPLY_DUPLICATED,
		STORE_THROWS, ROW_LOCKED, WORK_IGNORES_INTERRUPT, WORK_THROWS, WORK_RETURNS, WORK_STALLS

	}

	/**
	 * Bugs that others have had, to see that the checks can fail.
	 */
	enum Sabotage {

		NONE,

		/** The deadline is counted from when the answer arrived. */
		DEADLINE_FROM_REPLY,

		/** The lease is released when work is told to end, not when it has. */
		RELEASE_BEFORE_DRAIN,

		/** An owner that comes back gets the token that it had. */
		SAME_TOKEN_FOR_SAME_OWNER,

		/** Nothing looks at the deadline: only an answer of the store revokes. */
		REVOKE_ON_ANSWER_ONLY,

		/** An answer is taken for one to whatever was asked last. */
		ANSWERS_NOT_MATCHED,

		/** A renewal takes the role if it has lapsed. */
		RENEWAL_ACQUIRES,

		/** Work that was told to end is taken for ended. */
		DRAIN_NOT_AWAITED,

		/** A thread of its own reports progress. */
		PROGRESS_BY_TIMER,

		/** Belief is kept by the wall clock. */
		WALL_CLOCK_DEADLINE,

		/** A release does not look at the token. */
		RELEASE_BY_OWNER_ONLY,

		/** Somebody goes on renewing after the deadline. */
		RENEWAL_AFTER_DEADLINE,

		/**
		 * The node that asks decides by its own wall clock whether a lease has lapsed.
		 */
		NODE_CLOCK_DECIDES_EXPIRY,

		/** Two processes have the same owner id. */
		EQUAL_OWNER_IDS,

		/** An exception of the store ends the election. */
		EXCEPTION_ENDS_ELECTION,

		/** The store is asked again at once when it has not answered. */
		NO_RETRY_PAUSE,

		/** A term is granted to listeners again with every renewal. */
		GRANT_REPEATED

	}

	/**
	 * What a run came to.
	 *
	 * @param steps how many steps were made
	 * @param elections how many terms were granted
	 * @param faults how many faults of each kind there were
	 */
	record Report(long steps, long elections, Map<Fault, Integer> faults) {
	}

	/**
	 * A guarantee was broken.
	 */
	static final class Violation extends AssertionError {

		private static final long serialVersionUID = 1L;

		Violation(String message) {
			super(message);
		}

	}

	private record Step(long at, long order, Runnable action) implements Comparable<Step> {

		@Override
		public int compareTo(Step other) {
			int result = Long.compare(this.at, other.at);
			return (result != 0) ? result : Long.compare(this.order, other.order);
		}

	}

	/**
	 * What the store has done, kept by its own rules.
	 */
	private final class Ledger {

		private final Map<String, Holding> holdings = new HashMap<>();

		private long grants;

		void answered(String ownerId, LeaseRequest request, LeaseResult result) {
			Holding before = this.holdings.get(result.role());
			if (result.outcome() == Outcome.GRANTED) {
				this.grants++;
				if (request.heldToken().isPresent()) {
					throw violation("G10: a renewal of %s#%d was granted a new term".formatted(result.role(),
							request.heldToken().getAsLong()));
				}
				if (before != null && result.fencingToken() <= before.token()) {
					throw violation(
							"G1: token %d was granted after %d".formatted(result.fencingToken(), before.token()));
				}
				if (before != null && before.expiresAt().isAfter(storeTime())) {
					throw violation("G2: '%s' was granted '%s' while '%s' holds it".formatted(ownerId, result.role(),
							before.ownerId()));
				}
			}
			if (result.outcome() == Outcome.RENEWED && (before == null || before.token() != result.fencingToken()
					|| !before.ownerId().equals(ownerId) || !before.expiresAt().isAfter(storeTime()))) {
				throw violation("G1: a renewal of '%s' did not keep the term %s".formatted(result.role(), before));
			}
			if (result.acquired()) {
				this.holdings.put(result.role(),
						new Holding(ownerId, result.fencingToken(), storeTime().plus(request.ttl())));
			}
		}

		void released(String role) {
			this.holdings.computeIfPresent(role,
					(key, holding) -> new Holding(holding.ownerId(), holding.token(), storeTime()));
		}

		void checkHeld(Term term) {
			Holding holding = this.holdings.get(term.token().role());
			if (holding == null || !holding.ownerId().equals(term.ownerId()) || holding.token() != term.token().value()
					|| !holding.expiresAt().isAfter(storeTime())) {
				throw violation("G3: '%s' believes to hold %s, and the store says %s at %s".formatted(term.ownerId(),
						term.token(), holding, storeTime()));
			}
		}

		private record Holding(String ownerId, long token, Instant expiresAt) {
		}

	}

	/**
	 * The clocks of a node: the monotonic one runs at a rate of its own.
	 */
	private final class NodeClock implements ElectionClock {

		private final double rate = 1 + (Simulation.this.random.nextDouble() * 2 - 1) * Simulation.this.clockSkew;

		private final long bornAt = Simulation.this.now;

		private final Node node;

		private long steps;

		NodeClock(Node node) {
			this.node = node;
		}

		void takeStep(long millis) {
			if (Simulation.this.sabotage == Sabotage.WALL_CLOCK_DEADLINE) {
				this.steps += ms(millis);
			}
		}

		@Override
		public long nanos() {
			return (long) ((Simulation.this.now - this.bornAt) * this.rate) + this.steps;
		}

		/**
		 * The instant at which this clock will show a time.
		 */
		long whenItShows(long nanos) {
			return (nanos >= RoleState.NEVER / 2) ? Long.MAX_VALUE / 2
					: this.bornAt + (long) Math.ceil((nanos - this.steps) / this.rate);
		}

		@Override
		public long wallMillis() {
			if (Simulation.this.sabotage == Sabotage.WALL_CLOCK_DEADLINE) {
				return 0;
			}
			return ORIGIN.toEpochMilli() + (long) ((Simulation.this.now - this.bornAt) * this.rate) / 1_000_000
					+ this.node.wallOffset;
		}

	}

	/**
	 * A process: it can be paused, killed, stopped and started again under its name.
	 */
	private final class Node {

		private final String name;

		private final List<Runnable> missed = new ArrayList<>();

		private final Map<ActiveWork, Work> works = new LinkedHashMap<>();

		private final Map<String, FencingToken> granted = new HashMap<>();

		private final Map<String, Term> terms = new HashMap<>();

		private final Map<String, Long> confirmed = new HashMap<>();

		private boolean alive;

		private boolean paused;

		private boolean draining;

		private boolean calling;

		private boolean broken;

		private long wallOffset;

		private int life;

		private long calls;

		private long attentiveSince;

		private long turns;

		private NodeClock clock = new NodeClock(this);

		private @Nullable ElectionCore core;

		private String ownerId = "";

		Node(String name) {
			this.name = name;
		}

		ElectionCore core() {
			ElectionCore core = this.core;
			if (core == null) {
				throw new IllegalStateException("'" + this.name + "' was never started");
			}
			return core;
		}

		Optional<Term> term(String role) {
			return this.alive ? Optional.ofNullable(this.terms.get(role)) : Optional.empty();
		}

		String state(String role) {
			RoleStatus status = this.alive ? core().status(role) : null;
			return (status != null) ? status.state() + " " + status.reason() : "dead";
		}

		// Life

		void start() {
			if (this.alive) {
				return;
			}
			if (this.life > 0) {
				happened(Fault.RESTART, this.name);
			}
			this.life++;
			this.alive = true;
			this.draining = false;
			this.calling = false;
			this.paused = false;
			this.attentiveSince = Simulation.this.now;
			this.clock = new NodeClock(this);
			this.ownerId = (Simulation.this.sabotage == Sabotage.EQUAL_OWNER_IDS) ? "node"
					: this.name + "#" + ++Simulation.this.incarnations;
			this.core = new ElectionCore(this.clock, Simulation.this.random::nextDouble, new SimulatedHost(),
					ROLES::get, DRAIN_TIMEOUT);
			this.core.start(this.ownerId);
			this.core.register(LeaderTask.of("fast", (leadership) -> {
			}));
			this.core.register(LeaderTask.of("watched", (leadership) -> {
			}));
			this.core.register(LeaderTask.of("watched", (leadership) -> {
			}));
			this.core.register(LeaderTask.of("gated", (leadership) -> {
			}));
			this.core.contend();
			log(this.ownerId + " starts");
			wakeUp(0);
		}

		void kill() {
			if (this.alive) {
				happened(Fault.KILL, this.ownerId);
				end();
			}
		}

		private void end() {
			this.alive = false;
			this.works.clear();
			this.granted.clear();
			this.terms.clear();
			this.confirmed.clear();
			this.missed.clear();
			this.paused = false;
			at(Simulation.this.now + Simulation.this.random.nextLong(ms(8000)), this::start);
		}

		void stop() {
			if (!this.alive || this.draining) {
				return;
			}
			happened(Fault.STOP, this.ownerId);
			this.draining = true;
			later(0, () -> {
				core().stop();
				wakeUp(0);
				awaitStop(this.clock.nanos() + DRAIN_TIMEOUT.toNanos() + ms(1000));
			});
		}

		private void awaitStop(long limit) {
			if (core().isStopped() || this.clock.nanos() >= limit) {
				core().abandon();
				log(this.ownerId + " has stopped");
				end();
			}
			else {
				later(ms(20), () -> awaitStop(limit));
			}
		}

		/**
		 * Said to be free, be it true or not.
		 */
		void tellReleases() {
			if (this.alive) {
				happened(Fault.FALSE_NOTIFICATION, this.ownerId);
				later(0, () -> {
					core().vacated(ROLE_NAMES);
					wakeUp(0);
				});
			}
		}

		void stepDown(String role) {
			if (this.alive) {
				later(0, () -> {
					if (core().stepDown(role)) {
						happened(Fault.STEP_DOWN, this.ownerId + " " + role);
					}
					wakeUp(0);
				});
			}
		}

		void pause(long duration) {
			if (!this.alive || this.paused) {
				return;
			}
			happened(Fault.PAUSE, this.ownerId + " for " + Duration.ofNanos(duration));
			this.paused = true;
			int current = this.life;
			at(Simulation.this.now + duration, () -> {
				if (this.life == current) {
					resume();
				}
			});
		}

		void resume() {
			if (!this.paused) {
				return;
			}
			log(this.ownerId + " resumes");
			this.paused = false;
			this.attentiveSince = Simulation.this.now;
			List<Runnable> all = new ArrayList<>(this.missed);
			this.missed.clear();
			// Which thread comes first after a pause is anybody's guess.
			Collections.shuffle(all, Simulation.this.random);
			all.forEach((action) -> later(Simulation.this.random.nextLong(ms(5)), action));
			wakeUp(0);
		}

		/**
		 * Do something on this node, as soon as it runs.
		 */
		void later(long delay, Runnable action) {
			int current = this.life;
			at(Simulation.this.now + delay, () -> {
				if (!this.alive || this.life != current) {
					return;
				}
				if (this.paused) {
					this.missed.add(action);
					return;
				}
				action.run();
			});
		}

		// The two threads that the shell has

		void wakeUp(long delay) {
			long turn = ++this.turns;
			later(delay + lateness(), () -> {
				if (turn == this.turns) {
					turn();
				}
			});
		}

		private long lateness() {
			return chance(0.05) ? Simulation.this.random.nextLong(MAX_LATENESS)
					: Simulation.this.random.nextLong(ms(2));
		}

		private void turn() {
			ElectionCore core = core();
			if (Simulation.this.sabotage != Sabotage.REVOKE_ON_ANSWER_ONLY) {
				core.tick();
			}
			if (!this.calling && !this.broken && this.clock.nanos() >= core.nextRound()) {
				send(core.beginRound());
			}
			scheduleTurn();
		}

		private void scheduleTurn() {
			long next = core().nextTimer();
			if (!this.calling) {
				next = Math.min(next, core().nextRound());
			}
			long when = this.clock.whenItShows(next);
			wakeUp(Math.max(0, Math.min(when - Simulation.this.now, ms(60_000))));
		}

		private void send(Round round) {
			if (round.leaseCalls().isEmpty() && round.releaseCalls().isEmpty()) {
				return;
			}
			this.calling = true;
			Deque<Runnable> todo = new ArrayDeque<>();
			if (!round.leaseCalls().isEmpty()) {
				todo.add(() -> requestLeases(round.leaseCalls(), todo));
			}
			round.releaseCalls().forEach((call) -> todo.add(() -> release(call, todo)));
			next(todo);
		}

		private void next(Deque<Runnable> todo) {
			Runnable action = todo.poll();
			if (action != null) {
				action.run();
				return;
			}
			this.calling = false;
			scheduleTurn();
		}

		private void requestLeases(List<Round.LeaseCall> calls, Deque<Runnable> todo) {
			long sentAt = this.clock.nanos();
			long wallSentAt = this.clock.wallMillis();
			calls.forEach((call) -> checkRenewal(call, sentAt));
			Exchange exchange = new Exchange(this,
					() -> calls.forEach((call) -> core().unanswered(call.request().role(), call.requestId())),
					() -> next(todo));
			exchange.send(() -> {
				List<LeaseRequest> requests = calls.stream()
					.map(Round.LeaseCall::request)
					.filter((request) -> !Simulation.this.faulty() || !lockedRow(request))
					.toList();
				List<LeaseResult> results = storeAcquires(this, requests);
				return () -> {
					for (Round.LeaseCall call : calls) {
						LeaseResult result = results.stream()
							.filter((it) -> it.role().equals(call.request().role()))
							.findFirst()
							.orElse(new LeaseResult(call.request().role(), Outcome.BUSY, 0, null, null, Duration.ZERO));
						answered(call, sentAt, wallSentAt, result);
					}
				};
			});
		}

		private boolean lockedRow(LeaseRequest request) {
			if (chance(0.01)) {
				happened(Fault.ROW_LOCKED, request.role());
				return true;
			}
			return false;
		}

		private void answered(Round.LeaseCall call, long sentAt, long wallSentAt, LeaseResult result) {
			String role = result.role();
			if (result.outcome() != Outcome.BUSY) {
				log("%s is answered %s %s#%d of '%s'".formatted(this.ownerId, result.outcome(), role,
						result.fencingToken(), result.ownerId()));
			}
			if (result.acquired()) {
				this.confirmed.merge(role + "#" + result.fencingToken(),
						sentAt + RoleTimes.of(ROLES.get(role), DRAIN_TIMEOUT).belief(), Math::max);
			}
			switch (Simulation.this.sabotage) {
				case DEADLINE_FROM_REPLY -> core().answered(call, this.clock.nanos(), this.clock.wallMillis(), result);
				case ANSWERS_NOT_MATCHED -> {
					// Whichever request is pending now is taken for the one answered.
					for (long id = call.requestId(); id < call.requestId() + 40; id++) {
						core().answered(new Round.LeaseCall(id, call.request()),
								(id == call.requestId()) ? sentAt : this.clock.nanos(), this.clock.wallMillis(),
								result);
					}
				}
				default -> core().answered(call, sentAt, wallSentAt, result);
			}
			if (Simulation.this.sabotage == Sabotage.GRANT_REPEATED && result.outcome() == Outcome.RENEWED
					&& this.granted.containsKey(role)) {
				grantedTo(this.granted.get(role));
			}
			if (Simulation.this.sabotage == Sabotage.RENEWAL_AFTER_DEADLINE && result.acquired()
					&& call.request().heldToken().isPresent()) {
				later(ROLES.get(role).leaseTtl().toNanos(), () -> {
					if (!this.granted.containsKey(role)) {
						requestLeases(List.of(call), new ArrayDeque<>());
					}
				});
			}
		}

		private void checkRenewal(Round.LeaseCall call, long sentAt) {
			OptionalLong held = call.request().heldToken();
			if (held.isPresent()) {
				Long deadline = this.confirmed.get(call.request().role() + "#" + held.getAsLong());
				if (deadline == null || sentAt >= deadline) {
					throw violation("G4: %s renews %s#%d after its deadline".formatted(this.ownerId,
							call.request().role(), held.getAsLong()));
				}
			}
		}

		private void release(Round.ReleaseCall call, Deque<Runnable> todo) {
			call.token().ifPresent((token) -> checkDrained(call.role(), token));
			Exchange exchange = new Exchange(this, () -> core().unanswered(call.role(), call.requestId()),
					() -> next(todo));
			exchange.send(() -> {
				storeReleases(call);
				return () -> core().released(call);
			});
		}

		private void checkDrained(String role, long token) {
			if (this.works.values().stream().anyMatch((work) -> work.isOf(role, token))) {
				throw violation("G5: %s releases %s#%d while its work runs".formatted(this.ownerId, role, token));
			}
		}

		// Work

		void enter(String role) {
			if (!this.alive) {
				return;
			}
			later(0, () -> {
				ActiveWork work = core().enter(role);
				if (work != null) {
					work.begin();
					begin(work);
				}
			});
		}

		private void begin(ActiveWork active) {
			boolean overlap = this.works.values()
				.stream()
				.anyMatch((other) -> other.active.role().equals(active.role())
						&& !other.active.fencingToken().equals(active.fencingToken()));
			if (overlap) {
				throw violation("G6: %s starts work of %s while that of an earlier term runs".formatted(this.ownerId,
						active.fencingToken()));
			}
			Work work = new Work(this, active);
			this.works.put(active, work);
			work.begin();
		}

		/**
		 * Let all work end that does not of its own accord.
		 */
		void cure() {
			List.copyOf(this.works.values()).forEach(Work::cure);
		}

		private void grantedTo(FencingToken token) {
			if (this.granted.putIfAbsent(token.role(), token) != null) {
				throw violation("G4: %s is granted %s while it has %s".formatted(this.ownerId, token,
						this.granted.get(token.role())));
			}
			log("%s is granted %s".formatted(this.ownerId, token));
		}

		private void check() {
			if (this.paused) {
				return;
			}
			long attentive = Simulation.this.now - Math.max(this.attentiveSince, 0);
			for (Work work : this.works.values()) {
				Term term = work.active.term();
				boolean told = !term.token().equals(this.granted.get(term.token().role()));
				if (told) {
					continue;
				}
				long deadline = this.confirmed.getOrDefault(term.token().toString(), Long.MAX_VALUE / 2);
				long late = this.clock.nanos() - deadline;
				if (late > 2 * MAX_LATENESS && attentive > 2 * MAX_LATENESS) {
					throw violation("G4: %s has not revoked %s '%s' after its deadline".formatted(this.ownerId,
							term.token(), Duration.ofNanos(late)));
				}
				Duration stallTimeout = ROLES.get(term.token().role()).stallTimeout();
				if (stallTimeout != null && work.stalledAt != Long.MAX_VALUE) {
					long stalled = this.clock.nanos() - work.stalledAt - stallTimeout.toNanos();
					if (stalled > 2 * MAX_LATENESS && attentive > 2 * MAX_LATENESS) {
						throw violation(
								"G12: %s has kept %s although its work is stuck".formatted(this.ownerId, term.token()));
					}
				}
			}
		}

		private final class SimulatedHost implements ElectionCore.Host {

			@Override
			public void start(ActiveWork work) {
				work.begin();
				Node.this.terms.put(work.role(), work.term());
				begin(work);
			}

			@Override
			public void interrupt(ActiveWork work) {
				Work running = Node.this.works.get(work);
				if (running != null) {
					running.interrupt();
				}
			}

			@Override
			public void granted(FencingToken token, Duration ttl) {
				grantedTo(token);
			}

			@Override
			public void revoked(FencingToken token, RevocationReason reason, @Nullable String detail) {
				log("%s: %s is revoked, %s".formatted(Node.this.ownerId, token, reason));
				Node.this.terms.remove(token.role());
				if (!token.equals(Node.this.granted.remove(token.role()))) {
					throw violation("G4: %s is told of the end of %s again".formatted(Node.this.ownerId, token));
				}
				if (Simulation.this.sabotage == Sabotage.RELEASE_BEFORE_DRAIN) {
					release(new Round.ReleaseCall(RoleState.NO_REQUEST, token.role(), Node.this.ownerId,
							OptionalLong.of(token.value())), new ArrayDeque<>());
				}
			}

			@Override
			public void stalled(ActiveWork work, Duration silence) {
				log("%s: work of %s is stuck".formatted(Node.this.ownerId, work.fencingToken()));
			}

			@Override
			public void silent(ActiveWork work, Duration silence) {
			}

		}

	}

	/**
	 * A request and its answer, and what the network does to them.
	 */
	private final class Exchange {

		private final Node node;

		private final Runnable unanswered;

		private final Runnable done;

		private boolean over;

		Exchange(Node node, Runnable unanswered, Runnable done) {
			this.node = node;
			this.unanswered = unanswered;
			this.done = done;
		}

		/**
		 * Send a request.
		 * @param request is carried out by the store, and returns what is to be done with
		 * the answer
		 */
		void send(Supplier<Runnable> request) {
			this.node.calls++;
			this.node.later(CALL_TIMEOUT, () -> finish(this.unanswered));
			boolean faulty = faulty();
			if (faulty && chance(0.01)) {
				happened(Fault.REQUEST_LOST, this.node.ownerId);
				return;
			}
			long delay = Simulation.this.random.nextLong(ms(8));
			if (faulty && chance(0.02)) {
				happened(Fault.REQUEST_DELAYED, this.node.ownerId);
				delay = Simulation.this.random.nextLong(ms(9000));
			}
			at(Simulation.this.now + delay, () -> {
				if (Simulation.this.storeDown || (faulty() && chance(0.01))) {
					if (!Simulation.this.storeDown) {
						happened(Fault.STORE_THROWS, this.node.ownerId);
					}
					this.node.later(0, () -> {
						finish(this.unanswered);
						if (Simulation.this.sabotage == Sabotage.EXCEPTION_ENDS_ELECTION) {
							this.node.broken = true;
						}
					});
					return;
				}
				reply(request.get());
			});
		}

		private void reply(Runnable answer) {
			if (faulty() && chance(0.01)) {
				happened(Fault.REPLY_LOST, this.node.ownerId);
				return;
			}
			long delay = Simulation.this.random.nextLong(ms(8));
			if (faulty() && chance(0.02)) {
				happened(Fault.REPLY_DELAYED, this.node.ownerId);
				delay = Simulation.this.random.nextLong(ms(9000));
			}
			this.node.later(delay, () -> finish(answer));
			if (faulty() && chance(0.02)) {
				happened(Fault.REPLY_DUPLICATED, this.node.ownerId);
				this.node.later(delay + Simulation.this.random.nextLong(ms(5000)), answer);
			}
		}

		/**
		 * A late answer reaches the core all the same, which has to know better.
		 */
		private void finish(Runnable outcome) {
			boolean first = !this.over;
			this.over = true;
			if (first || outcome != this.unanswered) {
				outcome.run();
			}
			if (first) {
				if (outcome == this.unanswered && Simulation.this.sabotage == Sabotage.NO_RETRY_PAUSE) {
					new Exchange(this.node, () -> {
					}, () -> {
					}).send(() -> () -> {
					});
				}
				this.done.run();
			}
			else if (outcome != this.unanswered) {
				this.node.wakeUp(0);
			}
		}

	}

	// The store

	private List<LeaseResult> storeAcquires(Node node, List<LeaseRequest> requests) {
		List<LeaseResult> results = new ArrayList<>();
		for (LeaseRequest request : requests) {
			LeaseResult result = storeAcquires(node, request);
			this.ledger.answered(node.ownerId, request, result);
			results.add(result);
		}
		return results;
	}

	private LeaseResult storeAcquires(Node node, LeaseRequest request) {
		Optional<Lease> before = this.store.find(request.role());
		LeaseRequest asked = request;
		if (this.sabotage == Sabotage.RENEWAL_ACQUIRES) {
			asked = LeaseRequest.acquire(request.role(), request.ttl(), request.tokenFloor());
		}
		if (this.sabotage == Sabotage.NODE_CLOCK_DECIDES_EXPIRY && before.isPresent() && before.get().isLive()
				&& before.get().expiresAt().isBefore(Instant.ofEpochMilli(node.clock.wallMillis()))) {
			this.store.release(request.role(), before.get().ownerId(), before.get().fencingToken());
		}
		LeaseResult result = this.store.tryAcquireOrRenew(node.ownerId, List.of(asked)).get(0);
		if (this.sabotage == Sabotage.SAME_TOKEN_FOR_SAME_OWNER && result.outcome() == Outcome.GRANTED
				&& before.isPresent() && before.get().ownerId().equals(node.ownerId)) {
			return new LeaseResult(result.role(), result.outcome(), before.get().fencingToken(), result.ownerId(),
					result.expiresAt(), result.remaining());
		}
		return result;
	}

	private void storeReleases(Round.ReleaseCall call) {
		OptionalLong token = call.token();
		Optional<Lease> lease = this.store.find(call.role())
			.filter((it) -> it.isLive() && it.ownerId().equals(call.ownerId()));
		if (lease.isPresent() && (token.isEmpty() || this.sabotage == Sabotage.RELEASE_BY_OWNER_ONLY)) {
			token = OptionalLong.of(lease.get().fencingToken());
		}
		if (token.isPresent() && this.store.release(call.role(), call.ownerId(), token.getAsLong())) {
			log("'%s' has released %s#%d".formatted(call.ownerId(), call.role(), token.getAsLong()));
			this.ledger.released(call.role());
		}
	}

	/**
	 * A piece of work, with a will of its own.
	 */
	private final class Work {

		private final Node node;

		private final ActiveWork active;

		private long stalledAt = Long.MAX_VALUE;

		private boolean stubborn;

		private boolean interrupted;

		private boolean ended;

		Work(Node node, ActiveWork active) {
			this.node = node;
			this.active = active;
		}

		boolean isOf(String role, long token) {
			return this.active.role().equals(role) && this.active.fencingToken().value() == token;
		}

		void begin() {
			if (faulty()) {
				if (chance(0.15)) {
					happened(Fault.WORK_IGNORES_INTERRUPT, this.active.fencingToken().toString());
					this.stubborn = true;
					this.node.later(Simulation.this.random.nextLong(ms(20_000)), () -> {
						this.stubborn = false;
						if (this.interrupted) {
							end(null);
						}
					});
				}
				if (chance(0.1)) {
					this.node.later(Simulation.this.random.nextLong(ms(10_000)), () -> {
						if (!this.ended) {
							happened(Fault.WORK_THROWS, this.active.fencingToken().toString());
							end(new IllegalStateException("simulated"));
						}
					});
				}
				else if (chance(0.1) && !this.active.role().equals("fast")) {
					this.node.later(Simulation.this.random.nextLong(ms(10_000)), () -> {
						if (!this.ended) {
							happened(Fault.WORK_RETURNS, this.active.fencingToken().toString());
							end(null);
						}
					});
				}
				else if (chance(0.15)) {
					this.node.later(Simulation.this.random.nextLong(ms(10_000)), () -> {
						if (!this.ended) {
							happened(Fault.WORK_STALLS, this.active.fencingToken().toString());
							this.stalledAt = this.node.clock.nanos();
						}
					});
				}
			}
			progress();
		}

		private void progress() {
			if (this.ended) {
				return;
			}
			if (this.stalledAt == Long.MAX_VALUE || Simulation.this.sabotage == Sabotage.PROGRESS_BY_TIMER) {
				this.active.progress();
			}
			this.node.later(ms(700), this::progress);
		}

		void interrupt() {
			if (this.interrupted) {
				return;
			}
			this.interrupted = true;
			if (Simulation.this.sabotage == Sabotage.DRAIN_NOT_AWAITED) {
				this.node.later(0, () -> this.node.core().workEnded(this.active, null));
			}
			if (!this.stubborn) {
				this.node.later(Simulation.this.random.nextLong(ms(400)), () -> end(null));
			}
		}

		void cure() {
			this.stubborn = false;
			if (this.interrupted) {
				this.node.later(0, () -> end(null));
			}
			else if (this.stalledAt != Long.MAX_VALUE) {
				this.stalledAt = Long.MAX_VALUE;
			}
		}

		private void end(@Nullable Throwable failure) {
			if (this.ended) {
				return;
			}
			this.ended = true;
			this.node.works.remove(this.active);
			this.node.core().workEnded(this.active, failure);
			this.node.wakeUp(0);
		}

	}

}
