package io.github.fencedleadership.election;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;
import io.github.fencedleadership.lease.LeaseStore;

/**
 * Several nodes and one store in virtual time, with everything that may go wrong, decided
 * by one seed. What decides on a node is real ({@link ElectionCore} with its state
 * machines, {@link StoreDialogue}, {@link StoreCall}), and so is the store
 * ({@link InMemoryLeaseStore}); what is simulated is what lies around them: threads,
 * network, clocks, processes and work.
 * <p>
 * First there are faults, and then a time without any, in which nodes still come and go.
 * {@link SimulationChecks} compares what happens with the guarantees after every step.
 */
final class Simulation {

	static final Instant ORIGIN = Instant.parse("2026-10-25T00:30:00Z");

	/** How late a thread is that is not paused, at most. */
	static final long MAX_LATENESS = ms(60);

	/** How long a request or a reply is on its way if nothing is wrong, at most. */
	static final long MAX_LATENCY = ms(8);

	private static final int NODES = 4;

	private static final int MAX_STEPS = 3_000_000;

	private static final int TAIL = 200;

	private final long seed;

	private final Sabotage sabotage;

	private final boolean tracing;

	private final Random random;

	private final Plan plan;

	private final PriorityQueue<Step> steps = new PriorityQueue<>();

	private final Map<Fault, Integer> faults = new EnumMap<>(Fault.class);

	private final List<String> trace = new ArrayList<>();

	private final List<SimulatedNode> nodes = new ArrayList<>();

	private final Map<String, SimulatedNode> owners = new HashMap<>();

	private final Map<String, Integer> lockedRows = new TreeMap<>();

	private final SimulationChecks checks;

	private final LeaseStore store = new FaultyStore();

	private LeaseStore backend;

	private long now;

	private long sequence;

	private long stepCount;

	private long storeClockOffset;

	private int outages;

	private boolean answerIncomplete;

	private boolean calm;

	private int incarnations;

	/**
	 * Create a simulation.
	 * @param seed decides everything
	 * @param sabotage what is wrong on purpose
	 */
	Simulation(long seed, Sabotage sabotage) {
		this(seed, sabotage, Plan.COVERED);
	}

	/**
	 * Create a simulation.
	 * @param seed decides everything
	 * @param sabotage what is wrong on purpose
	 * @param slowness how slow a clock may be: 1 is what the safety margin just covers
	 */
	Simulation(long seed, Sabotage sabotage, double slowness) {
		this(seed, sabotage, slowness, false);
	}

	private Simulation(long seed, Sabotage sabotage, double slowness, boolean tracing) {
		this.seed = seed;
		this.sabotage = sabotage;
		this.tracing = tracing;
		this.random = new Random(seed * 0x9E3779B97F4A7C15L);
		this.plan = Plan.draw(this.random, slowness);
		this.checks = new SimulationChecks(this);
		this.backend = newBackend();
	}

	private LeaseStore newBackend() {
		InstantSource clock = this::storeInstant;
		return this.sabotage.store(new InMemoryLeaseStore(clock), this);
	}

	static long ms(long millis) {
		return TimeUnit.MILLISECONDS.toNanos(millis);
	}

	/**
	 * Run until the end.
	 * @return what has happened
	 * @throws Violation if a guarantee was broken
	 */
	Report run() {
		try {
			return doRun();
		}
		catch (Violation ex) {
			throw this.tracing ? ex : traced(ex);
		}
	}

	/**
	 * A trace costs more than all the rest, so it is only made when there is somebody to
	 * read it.
	 */
	private Violation traced(Violation untraced) {
		Simulation again = new Simulation(this.seed, this.sabotage, this.plan.slowness(), true);
		try {
			again.doRun();
			return untraced;
		}
		catch (Violation ex) {
			return ex;
		}
	}

	private Report doRun() {
		trace(() -> "seed " + this.seed + ": " + this.plan);
		for (int i = 0; i < NODES; i++) {
			this.nodes.add(new SimulatedNode(this, i));
			startLater(i, ms(2000));
		}
		scheduleEvent();
		long end = this.plan.faultsUntil() + this.plan.calm();
		try {
			while (this.now < end) {
				if (!this.calm && this.now >= this.plan.faultsUntil()) {
					becomeCalm();
				}
				step();
			}
		}
		catch (RuntimeException ex) {
			throw violation("G9: " + ex, ex);
		}
		return new Report(this.stepCount, this.checks.elections(), this.checks.led(), new EnumMap<>(this.faults));
	}

	private void step() {
		Step step = this.steps.peek();
		long lapse = this.checks.nextLapse();
		if (++this.stepCount > MAX_STEPS) {
			throw violation("G11: steps without end");
		}
		if (step == null || lapse < step.at()) {
			// The instant at which a wrong belief would begin to be wrong.
			this.now = lapse;
		}
		else {
			this.steps.remove();
			this.now = Math.max(this.now, step.at());
			step.action().run();
		}
		this.checks.afterStep();
	}

	// For nodes and checks

	long now() {
		return this.now;
	}

	Plan plan() {
		return this.plan;
	}

	Random random() {
		return this.random;
	}

	Sabotage sabotage() {
		return this.sabotage;
	}

	SimulationChecks checks() {
		return this.checks;
	}

	List<SimulatedNode> nodes() {
		return this.nodes;
	}

	@Nullable SimulatedNode owner(String ownerId) {
		return this.owners.get(ownerId);
	}

	boolean isAnyRowLocked() {
		return !this.lockedRows.isEmpty();
	}

	boolean isCalm() {
		return this.calm;
	}

	Collection<Lease> leases() {
		return this.backend.findAll();
	}

	long wallMillis(String ownerId) {
		SimulatedNode node = this.owners.get(ownerId);
		return (node != null) ? node.wallMillis() : ORIGIN.toEpochMilli();
	}

	/**
	 * The time by the clock of the store, with the precision that it has.
	 */
	long storeTime() {
		return (this.now + this.storeClockOffset) / 1000 * 1000;
	}

	long whenStoreShows(long storeTime) {
		return storeTime - this.storeClockOffset;
	}

	private Instant storeInstant() {
		return ORIGIN.plusNanos(storeTime());
	}

	String newOwnerId(SimulatedNode node) {
		String ownerId = this.sabotage.ownerId(node.name(), ++this.incarnations);
		this.owners.put(ownerId, node);
		return ownerId;
	}

	void at(long when, Runnable action) {
		this.steps.add(new Step(Math.max(when, this.now), this.sequence++, action));
	}

	boolean chance(double probability) {
		return this.random.nextDouble() < probability;
	}

	long upTo(long nanos) {
		return this.random.nextLong(Math.max(1, nanos));
	}

	long upToTtls(double ttls) {
		return upTo((long) (ttls * this.plan.longestTtl()));
	}

	/**
	 * Decide whether something goes wrong.
	 * @param fault what
	 * @param probability how likely it is in a run of medium severity
	 * @return {@code true} if it does
	 */
	boolean strikes(Fault fault, double probability) {
		return (!this.calm || fault.ordinary) && this.plan.faults().contains(fault)
				&& chance(probability * this.plan.severity());
	}

	/**
	 * Decide what goes wrong with a call.
	 * @return the fault, {@code null} for none
	 */
	@Nullable Fault drawFaultOfCall() {
		if (this.calm || !chance(0.05 * this.plan.severity())) {
			return null;
		}
		List<Fault> possible = this.plan.faultsOfCalls();
		return possible.isEmpty() ? null : possible.get(this.random.nextInt(possible.size()));
	}

	void happened(Fault fault, Object detail) {
		this.faults.merge(fault, 1, Integer::sum);
		this.checks.disturbed(fault);
		trace(() -> "-- " + fault + " " + detail);
	}

	void trace(Supplier<String> line) {
		if (this.tracing) {
			this.trace.add("%12.6f %s".formatted(this.now / 1e9, line.get()));
		}
	}

	Violation violation(String what) {
		return violation(what, null);
	}

	private Violation violation(String what, @Nullable Throwable cause) {
		StringBuilder message = new StringBuilder(what).append(" (at %.6f s)".formatted(this.now / 1e9));
		if (this.tracing) {
			List<String> tail = this.trace.subList(Math.max(0, this.trace.size() - TAIL), this.trace.size());
			message.append("\nAll of the trace is in '%s'. Its end:\n".formatted(writeTrace()))
				.append(String.join("\n", tail));
		}
		message.append(
				"\nReplay: mvn -pl fenced-leadership-spring-boot-autoconfigure test -Dtest=SimulationTests#keepsItsGuaranteesWhateverGoesWrong -Dsimulation.seed=%d -Dsimulation.sabotage=%s"
					.formatted(this.seed, this.sabotage));
		return new Violation(message.toString(), cause);
	}

	private Path writeTrace() {
		try {
			return Files.write(Path.of("target", "simulation-%d-%s.txt".formatted(this.seed, this.sabotage)),
					this.trace);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	// What happens

	private void scheduleEvent() {
		long pause = this.calm ? upToTtls(2.5) : (long) (upTo(ms(2000)) / this.plan.severity());
		at(this.now + pause, () -> {
			SimulatedNode node = this.nodes.get(this.random.nextInt(NODES));
			String role = this.plan.roles().get(this.random.nextInt(this.plan.roles().size())).name();
			List<Fault> possible = this.plan.events().stream().filter((it) -> !this.calm || it.ordinary).toList();
			if (!possible.isEmpty()) {
				happen(possible.get(this.random.nextInt(possible.size())), node, role);
			}
			scheduleEvent();
		});
	}

	private void happen(Fault event, SimulatedNode node, String role) {
		switch (event) {
			case PAUSE -> node.pause(upToTtls(chance(0.5) ? 0.5 : 2));
			case SUSPENSION -> node.suspend(upToTtls(2));
			case KILL -> {
				if (node.isAlive()) {
					happened(event, node);
					node.die();
				}
			}
			case STOP -> node.stop(this.random.nextBoolean());
			case STEP_DOWN -> this.nodes.forEach((it) -> it.stepDown(role));
			case UNREGISTRATION -> node.unregister(role);
			case ENTRY -> this.nodes.forEach((it) -> it.enter(role));
			case FALSE_NOTIFICATION -> {
				happened(event, role);
				node.vacated(role);
			}
			case WALL_CLOCK_FORWARD -> node.stepWallClock(event, upTo(7_200_000));
			case WALL_CLOCK_BACK -> node.stepWallClock(event, -upTo(7_200_000));
			case STORE_CLOCK_FORWARD -> {
				happened(event, "");
				this.storeClockOffset += upToTtls(1);
			}
			case STORE_CLOCK_BACK -> {
				long step = upToTtls(0.5);
				happened(event, "");
				this.storeClockOffset -= step;
				this.checks.storeClockSetBack(step);
			}
			case STORE_DOWN -> {
				happened(event, "");
				this.outages++;
				at(this.now + upToTtls(chance(0.3) ? 3 : 0.5), () -> {
					this.outages--;
					this.checks.disturbed(event);
				});
			}
			case ROW_LOCKED -> {
				happened(event, role);
				this.lockedRows.merge(role, 1, Integer::sum);
				at(this.now + upToTtls(1.5), () -> {
					this.lockedRows.computeIfPresent(role, (key, count) -> (count > 1) ? count - 1 : null);
					this.checks.disturbed(event);
				});
			}
			case TABLE_LOST -> {
				if (chance(0.2)) {
					happened(event, "");
					this.backend = newBackend();
					this.checks.tableLost();
				}
			}
			default -> throw new IllegalStateException("Not an event: " + event);
		}
	}

	/**
	 * Let a node start, again if it has died: as another process of the same name.
	 */
	void startLater(int index, long within) {
		at(this.now + upTo(within), () -> {
			SimulatedNode node = this.nodes.get(index);
			if (!node.isAlive()) {
				node = new SimulatedNode(this, index);
				this.nodes.set(index, node);
				happened(Fault.RESTART, node);
			}
			node.start();
		});
	}

	private void becomeCalm() {
		trace(() -> "-- no more faults");
		this.calm = true;
		this.checks.disturbed(Fault.STORE_DOWN);
		for (SimulatedNode node : this.nodes) {
			node.resume();
		}
	}

	void released(String role) {
		for (SimulatedNode node : this.nodes) {
			if (this.plan.notifying() && node.isAlive()) {
				if (strikes(Fault.NOTIFICATION_LOST, 0.3)) {
					happened(Fault.NOTIFICATION_LOST, node);
				}
				else {
					node.vacated(role);
				}
			}
		}
	}

	/**
	 * Carry out a call, now.
	 * @param incomplete whether the answer lacks a part
	 */
	StoreCall.Answer carryOut(StoreCall call, boolean incomplete) {
		this.answerIncomplete = incomplete;
		try {
			return call.carryOut(this.store);
		}
		finally {
			this.answerIncomplete = false;
		}
	}

	/**
	 * What can go wrong, or just happens.
	 */
	enum Fault {

		// To nodes
		PAUSE(false), SUSPENSION(false), KILL(true), RESTART(true), STOP(true), STOP_LEFT_WORK_BEHIND(true),
		START_AFTER_STOP(true), STEP_DOWN(true), UNREGISTRATION(true), ENTRY(true), NO_THREAD(false),
		THREAD_FAILED(false), REGISTRY_HANGS(false), WALL_CLOCK_FORWARD(false), WALL_CLOCK_BACK(false),
		SLOW_CLOCK(false), FAST_CLOCK(false), FALSE_NOTIFICATION(false), NOTIFICATION_LOST(false),

		// To calls
		CALL_SLOW(false), CALL_HANGS(false), REQUEST_LOST(false), REQUEST_DELAYED(false), REQUEST_DUPLICATED(false),
		REPLY_LOST(false), REPLY_DELAYED(false), REPLY_DUPLICATED(false), REPLY_OVERTAKEN(false),
		REPLY_INCOMPLETE(false), THROWN_BEFORE(false), THROWN_AFTER(false),

		// To the store
		STORE_DOWN(false), ROW_LOCKED(false), TABLE_LOST(false), STORE_CLOCK_FORWARD(false), STORE_CLOCK_BACK(false),

		// To work
		WORK_IGNORES_INTERRUPT(true), WORK_THROWS(true), WORK_RETURNS(true), WORK_STALLS(true);

		static final Set<Fault> OF_CALLS = EnumSet.of(CALL_SLOW, CALL_HANGS, REQUEST_LOST, REQUEST_DELAYED,
				REQUEST_DUPLICATED, REPLY_LOST, REPLY_DELAYED, REPLY_DUPLICATED, REPLY_INCOMPLETE, THROWN_BEFORE,
				THROWN_AFTER, THREAD_FAILED);

		static final Set<Fault> EVENTS = EnumSet.of(PAUSE, SUSPENSION, KILL, STOP, STEP_DOWN, UNREGISTRATION, ENTRY,
				WALL_CLOCK_FORWARD, WALL_CLOCK_BACK, FALSE_NOTIFICATION, STORE_DOWN, ROW_LOCKED, TABLE_LOST,
				STORE_CLOCK_FORWARD, STORE_CLOCK_BACK);

		private final boolean ordinary;

		/**
		 * Create a fault.
		 * @param ordinary whether it happens also in a time without faults
		 */
		Fault(boolean ordinary) {
			this.ordinary = ordinary;
		}

		boolean isOrdinary() {
			return this.ordinary;
		}

	}

	/**
	 * What a run came to.
	 *
	 * @param steps how many steps were made
	 * @param elections how many terms were granted
	 * @param led for how much of the time without faults the roles were led, from 0 to 1
	 * @param faults how many faults of each kind there were
	 */
	record Report(long steps, long elections, double led, Map<Fault, Integer> faults) {
	}

	/**
	 * A guarantee was broken.
	 */
	static final class Violation extends AssertionError {

		private static final long serialVersionUID = 1L;

		Violation(String message, @Nullable Throwable cause) {
			super(message, cause);
		}

	}

	/**
	 * A role and what is done in it.
	 *
	 * @param settings the settings, which differ from node to node during a rolling
	 * restart
	 * @param works how many pieces of work are run in each term; none for a role that is
	 * only entered
	 */
	record Role(String name, List<RoleSettings> settings, int works) {
	}

	/**
	 * What one seed makes of a run: not every fault happens in every run, so that there
	 * are runs in which some bug is not hidden by the faults that others need.
	 *
	 * @param severity how often something goes wrong
	 * @param watchfulness how often somebody looks whether a role is held, which is what
	 * may end belief
	 * @param slowness how slow a clock may be: 1 is what the safety margin just covers
	 * @param callBound for how long a node waits for an answer, unless a call hangs
	 */
	record Plan(Set<Fault> faults, List<Fault> faultsOfCalls, List<Fault> events, double severity, double watchfulness,
			double slowness, List<Role> roles, Duration drainTimeout, boolean notifying, long callBound,
			long longestTtl) {

		static final double COVERED = 0.97;

		static Plan draw(Random random, double slowness) {
			Set<Fault> faults = EnumSet.allOf(Fault.class);
			faults.removeIf((fault) -> random.nextDouble() < 0.3);
			// A machine that is suspended after its wall clock was set back is not
			// covered.
			faults.remove(random.nextBoolean() ? Fault.WALL_CLOCK_BACK : Fault.SUSPENSION);
			// What the store's clock, or its loss of rows, does to belief would hide the
			// rest.
			if (random.nextInt(4) > 0) {
				faults.remove(Fault.STORE_CLOCK_FORWARD);
				faults.remove(Fault.TABLE_LOST);
			}
			List<Role> roles = new ArrayList<>();
			boolean mixed = random.nextInt(4) == 0;
			for (String name : List.of("a", "b", "c")) {
				List<RoleSettings> settings = new ArrayList<>();
				for (int i = 0; i < NODES; i++) {
					settings.add((i == 0 || mixed) ? drawSettings(random, name.equals("a")) : settings.get(0));
				}
				roles.add(new Role(name, settings, random.nextInt(3)));
			}
			long callBound = all(roles).mapToLong((it) -> it.renewInterval().toNanos() / 2).min().getAsLong();
			long longestTtl = all(roles).mapToLong((it) -> it.leaseTtl().toNanos()).max().getAsLong();
			return new Plan(faults, faults.stream().filter(Fault.OF_CALLS::contains).toList(),
					faults.stream().filter(Fault.EVENTS::contains).toList(),
					new double[] { 0.3, 1, 2 }[random.nextInt(3)], new double[] { 1, 1, 0.05 }[random.nextInt(3)],
					slowness, roles, Duration.ofMillis(500 + random.nextInt(5000)), random.nextBoolean(), callBound,
					longestTtl);
		}

		private static RoleSettings drawSettings(Random random, boolean stalling) {
			Duration ttl = Duration.ofMillis(1500 + random.nextInt(6) * 1100);
			Duration margin = switch (random.nextInt(3)) {
				case 0 -> ttl.dividedBy(20);
				case 1 -> ttl.dividedBy(5);
				default -> null;
			};
			Duration stallTimeout = (stalling || random.nextBoolean()) ? Duration.ofMillis(1000 + random.nextInt(4000))
					: null;
			return RoleSettings.of(ttl, null, null, margin, stallTimeout);
		}

		private static Stream<RoleSettings> all(List<Role> roles) {
			return roles.stream().flatMap((role) -> role.settings().stream());
		}

		/**
		 * The rate of the slowest clock that the margins of a node cover: a TTL by the
		 * store's clock must not be shorter than a TTL less the margin by the node's.
		 */
		double slowestRate(int node) {
			double covered = this.roles.stream()
				.map((role) -> role.settings().get(node))
				.mapToDouble((it) -> (double) it.safetyMargin().toNanos() / it.leaseTtl().toNanos())
				.min()
				.getAsDouble();
			return 1 - this.slowness * covered;
		}

		long faultsUntil() {
			return 12 * this.longestTtl;
		}

		long calm() {
			return 10 * this.longestTtl;
		}

		RoleSettings settings(String role, int node) {
			return this.roles.stream()
				.filter((it) -> it.name().equals(role))
				.findFirst()
				.orElseThrow()
				.settings()
				.get(node);
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
	 * The store as it is reached, or not, at the instant at which a call is carried out.
	 */
	private final class FaultyStore implements LeaseStore {

		@Override
		public List<LeaseResult> tryAcquireOrRenew(String ownerId, Collection<LeaseRequest> requests) {
			failIfDown();
			List<LeaseRequest> possible = requests.stream().filter((it) -> !isLocked(it.role())).toList();
			List<LeaseResult> results = new ArrayList<>(Simulation.this.backend.tryAcquireOrRenew(ownerId, possible));
			Simulation.this.checks.answered(ownerId, possible, results);
			Simulation.this.checks.storeChanged();
			requests.stream()
				.filter((it) -> isLocked(it.role()))
				.forEach((it) -> results.add(new LeaseResult(it.role(), Outcome.BUSY, 0, null, null, Duration.ZERO)));
			Collections.shuffle(results, Simulation.this.random);
			if (Simulation.this.answerIncomplete && !results.isEmpty()) {
				results.remove(0);
			}
			return results;
		}

		@Override
		public boolean release(String role, String ownerId, long fencingToken) {
			boolean released = Simulation.this.backend.release(role, ownerId, fencingToken);
			Simulation.this.checks.storeChanged();
			return released;
		}

		@Override
		public Map<String, Boolean> release(String ownerId, Map<String, Long> fencingTokens) {
			failIfDown();
			Map<String, Boolean> released = new TreeMap<>();
			fencingTokens.forEach((role, token) -> {
				if (!isLocked(role)) {
					released.put(role, release(role, ownerId, token));
				}
			});
			return released;
		}

		@Override
		public Optional<Lease> find(String role) {
			failIfDown();
			return Simulation.this.backend.find(role);
		}

		@Override
		public List<Lease> findAll() {
			failIfDown();
			return Simulation.this.backend.findAll();
		}

		private boolean isLocked(String role) {
			return !Simulation.this.calm && Simulation.this.lockedRows.containsKey(role);
		}

		private void failIfDown() {
			if (!Simulation.this.calm && Simulation.this.outages > 0) {
				throw new IllegalStateException("The simulated store is down");
			}
		}

	}

}
