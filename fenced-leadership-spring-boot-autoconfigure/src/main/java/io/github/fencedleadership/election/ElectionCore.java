package io.github.fencedleadership.election;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.election.RoleState.BackingOff;
import io.github.fencedleadership.election.RoleState.Draining;
import io.github.fencedleadership.election.RoleState.Leading;
import io.github.fencedleadership.election.RoleState.Releasing;
import io.github.fencedleadership.election.RoleState.Standby;
import io.github.fencedleadership.election.RoleState.Stopped;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;

/**
 * All roles of one node: feeds events to the state machine of each role, and carries the
 * effects out through its {@link Host}.
 * <p>
 * Owns no thread and makes no call that could block, so that it can be driven by the
 * threads of {@link DefaultLeaderElector} as well as by a simulation in virtual time. Not
 * thread-safe: every method is called under the lock of the elector.
 */
class ElectionCore {

	/**
	 * Work that has shown no progress for so many TTLs is worth a warning.
	 */
	private static final int SILENT_TTLS = 10;

	/**
	 * How often to look for wall time that ran away, which no monotonic timer notices.
	 */
	private static final long WALL_CLOCK_CHECK = TimeUnit.SECONDS.toNanos(1);

	private final ElectionClock clock;

	private final DoubleSupplier random;

	private final Host host;

	private final Function<String, RoleSettings> settings;

	private final Duration drainTimeout;

	private final TreeMap<String, Role> roles = new TreeMap<>();

	private boolean running;

	private boolean contending;

	/**
	 * Since when all roles are being given up.
	 */
	private long drainingSince;

	private String ownerId = "";

	private long lastRequestId = RoleState.NO_REQUEST;

	private boolean changed;

	ElectionCore(ElectionClock clock, DoubleSupplier random, Host host, Function<String, RoleSettings> settings,
			Duration drainTimeout) {
		this.clock = clock;
		this.random = random;
		this.host = host;
		this.settings = settings;
		this.drainTimeout = drainTimeout;
	}

	RoleStateMachine machine(RoleTimes times) {
		return new RoleStateMachine(times);
	}

	// Interest in roles

	Interest register(LeaderTask task) {
		Role role = this.roles.get(task.role());
		if (role == null) {
			RoleSettings roleSettings = (task.settings() != null) ? task.settings() : this.settings.apply(task.role());
			role = new Role(task.role(), roleSettings, task.settings() != null);
			this.roles.put(task.role(), role);
		}
		else if (task.settings() != null) {
			role.useSettings(task);
		}
		Interest interest = new Interest(task);
		role.interests.add(interest);
		if (this.contending) {
			handle(role, new RoleEvent.Contend());
		}
		Term term = role.term;
		if (term != null && role.state instanceof Leading) {
			startWork(term, interest);
		}
		return interest;
	}

	void unregister(Interest interest) {
		Role role = this.roles.get(interest.task().role());
		if (role == null || !role.interests.remove(interest)) {
			return;
		}
		if (role.interests.isEmpty()) {
			handle(role, new RoleEvent.Stop());
			forgetIfUnused(role);
		}
		else if (role.term != null) {
			role.workOf(interest).forEach(this.host::interrupt);
		}
	}

	/**
	 * Return whether nothing is going on any more for an interest that has ended.
	 * @param interest the interest
	 * @return {@code true} if its work has ended and, if it was the last one in its role,
	 * the role was given up
	 */
	boolean isGone(Interest interest) {
		Role role = this.roles.get(interest.task().role());
		if (role == null) {
			return true;
		}
		return !role.interests.isEmpty() && role.workOf(interest).isEmpty();
	}

	private void forgetIfUnused(Role role) {
		if (role.interests.isEmpty() && role.state instanceof Stopped) {
			this.roles.remove(role.name, role);
		}
	}

	// Contention

	void start(String ownerId) {
		this.running = true;
		this.ownerId = ownerId;
	}

	void contend() {
		this.contending = true;
		handleAll(new RoleEvent.Contend());
	}

	boolean isContending() {
		return this.contending;
	}

	void stop() {
		if (this.contending) {
			this.drainingSince = this.clock.nanos();
		}
		this.contending = false;
		handleAll(new RoleEvent.Stop());
	}

	void abandon() {
		this.running = false;
		this.contending = false;
		handleAll(new RoleEvent.Abandon());
	}

	/**
	 * Ask for roles that are said to be free.
	 * @param names the roles
	 */
	void vacated(Collection<String> names) {
		for (String name : names) {
			Role role = this.roles.get(name);
			if (role != null) {
				handle(role, new RoleEvent.Vacated());
			}
		}
	}

	boolean stepDown(String name) {
		Role role = this.roles.get(name);
		if (role == null || !(role.state instanceof Leading)) {
			return false;
		}
		handle(role, new RoleEvent.StepDown());
		return true;
	}

	/**
	 * Return whether every role has been given up.
	 * @return {@code true} if no work runs and no lease is held
	 */
	boolean isStopped() {
		return this.roles.values().stream().allMatch((role) -> role.state instanceof Stopped);
	}

	long drainingSince() {
		return this.drainingSince;
	}

	/**
	 * Return for how long a stop is still to be waited for: for work until the drain
	 * timeout, for releases a little longer.
	 * @param forRelease how much longer
	 * @return nanoseconds, 0 if all has been given up or what is left is not worth
	 * waiting for
	 */
	long drainLeft(long forRelease) {
		long left = this.drainingSince + this.drainTimeout.toNanos() - this.clock.nanos();
		if (isStopped()) {
			return 0;
		}
		return Math.max(0, (left > 0 || !isReleasing()) ? left : left + forRelease);
	}

	/**
	 * Return whether a lease is still to be given back whose work has ended.
	 */
	private boolean isReleasing() {
		return this.roles.values()
			.stream()
			.anyMatch((role) -> role.state instanceof Releasing || role.state instanceof Standby);
	}

	List<ActiveWork> activeWork() {
		return this.roles.values().stream().flatMap((role) -> role.activeWork().stream()).toList();
	}

	private void handleAll(RoleEvent event) {
		for (Role role : List.copyOf(this.roles.values())) {
			handle(role, event);
		}
	}

	// The store

	/**
	 * Return when something is to be sent to the store.
	 * @return the instant
	 */
	long nextRound() {
		long next = RoleState.NEVER;
		for (Role role : this.roles.values()) {
			next = Math.min(next, role.state.due());
		}
		return next;
	}

	/**
	 * Collect all that may be sent to the store now.
	 * @return the requests
	 */
	Round beginRound() {
		Round round = new Round(this.ownerId);
		for (Role role : List.copyOf(this.roles.values())) {
			handle(role, new RoleEvent.Send(++this.lastRequestId), round);
		}
		return round;
	}

	void answered(Round.LeaseCall call, long sentAt, long wallSentAt, LeaseResult result) {
		Role role = this.roles.get(call.request().role());
		if (role != null) {
			role.wallSentAt = wallSentAt;
			handle(role, new RoleEvent.Answered(call.requestId(), sentAt, result), null, describe(role, result));
		}
	}

	void released(Round.ReleaseCall call) {
		Role role = this.roles.get(call.role());
		if (role != null) {
			handle(role, new RoleEvent.Released(call.requestId()));
		}
	}

	void unanswered(String roleName, long requestId) {
		Role role = this.roles.get(roleName);
		if (role != null) {
			handle(role, new RoleEvent.Unanswered(requestId));
		}
	}

	/**
	 * Take every request that is pending for one that was not answered.
	 */
	void unanswered() {
		for (Role role : List.copyOf(this.roles.values())) {
			if (role.state.pending() != RoleState.NO_REQUEST) {
				handle(role, new RoleEvent.Unanswered(role.state.pending()));
			}
		}
	}

	// Time

	/**
	 * Return when {@link #tick()} has something to do.
	 * @return the instant
	 */
	long nextTimer() {
		long next = RoleState.NEVER;
		long wallClockCheck = this.clock.nanos() + WALL_CLOCK_CHECK;
		for (Role role : this.roles.values()) {
			next = Math.min(next, role.state.timer());
			if (role.state instanceof Leading) {
				next = Math.min(next, wallClockCheck);
				for (ActiveWork work : role.activeWork()) {
					long silentSince = work.silentSince();
					if (silentSince != RoleState.NEVER && (role.stallTimeout() > 0 || !role.warnedOfSilence)) {
						next = Math.min(next, silentSince + role.silenceLimit());
					}
				}
			}
		}
		return next;
	}

	void tick() {
		long now = this.clock.nanos();
		for (Role role : List.copyOf(this.roles.values())) {
			if (now >= role.state.timer()) {
				handle(role, new RoleEvent.Tick());
			}
			Term term = role.term;
			if (role.state instanceof Leading && term != null) {
				if (!term.isHeld()) {
					handle(role, new RoleEvent.Ended(reasonOfExpiry(term)));
				}
				else {
					checkProgress(role, now);
				}
			}
		}
	}

	private void checkProgress(Role role, long now) {
		for (ActiveWork work : role.activeWork()) {
			long silentSince = work.silentSince();
			if (silentSince == RoleState.NEVER || now - silentSince < role.silenceLimit()) {
				continue;
			}
			Duration silence = Duration.ofNanos(now - silentSince);
			if (role.stallTimeout() > 0) {
				this.host.stalled(work, silence);
				handle(role, new RoleEvent.Ended(RevocationReason.STALLED));
				return;
			}
			if (!role.warnedOfSilence) {
				role.warnedOfSilence = true;
				this.host.silent(work, silence);
			}
		}
	}

	// Work

	@Nullable ActiveWork enter(String name) {
		Role role = this.roles.get(name);
		if (role == null || role.term == null || !(role.state instanceof Leading) || !role.term.isHeld()) {
			return null;
		}
		ActiveWork work = new ActiveWork(role.term, new Interest(LeaderTask.holding(name)));
		role.term.activeWork().add(work);
		return work;
	}

	void workEnded(ActiveWork work, @Nullable Throwable failure) {
		Term term = work.term();
		term.activeWork().remove(work);
		Role role = this.roles.get(work.role());
		if (role == null || role.term != term) {
			return;
		}
		if (failure != null && role.state instanceof Leading && role.interests.contains(work.interest())) {
			handle(role, new RoleEvent.Ended(RevocationReason.WORK_FAILED));
		}
		endDrain(role);
	}

	private void endDrain(Role role) {
		if (!(role.state instanceof Draining) || !role.activeWork().isEmpty()) {
			return;
		}
		handle(role, new RoleEvent.Drained());
		if (!this.running) {
			// Nobody is left to release the lease, which lapses.
			handle(role, new RoleEvent.Abandon());
		}
	}

	/**
	 * Return whether instants may have changed since the last call.
	 * @return {@code true} if somebody who waits for one should look again
	 */
	boolean takeChanged() {
		boolean changed = this.changed;
		this.changed = false;
		return changed;
	}

	private void startWork(Term term, Interest interest) {
		if (interest.task().work() != null) {
			ActiveWork work = new ActiveWork(term, interest);
			term.activeWork().add(work);
			this.host.start(work);
		}
	}

	// What people see

	Collection<RoleStatus> statuses() {
		return this.roles.values().stream().map(this::status).toList();
	}

	@Nullable RoleStatus status(String name) {
		Role role = this.roles.get(name);
		return (role != null) ? status(role) : null;
	}

	private RoleStatus status(Role role) {
		Term term = role.term;
		boolean leading = role.state instanceof Leading;
		FencingToken token = (term != null && (leading || role.state instanceof Draining
				|| (role.state instanceof Releasing releasing && releasing.token().isPresent()))) ? term.token() : null;
		Duration remaining = (leading && term != null) ? Duration.ofNanos(term.remainingNanos()) : Duration.ZERO;
		return new RoleStatus(role.name, stateOf(role.state), role.since, role.reason, token, remaining);
	}

	private static RoleStatus.State stateOf(RoleState state) {
		if (state instanceof Stopped) {
			return RoleStatus.State.STOPPED;
		}
		if (state instanceof Standby) {
			return RoleStatus.State.STANDBY;
		}
		if (state instanceof BackingOff) {
			return RoleStatus.State.BACKING_OFF;
		}
		if (state instanceof Leading) {
			return RoleStatus.State.LEADING;
		}
		if (state instanceof Draining draining && draining.reason() == RevocationReason.STALLED) {
			return RoleStatus.State.STALLED;
		}
		return RoleStatus.State.DRAINING;
	}

	// The machine

	private void handle(Role role, RoleEvent event) {
		handle(role, event, null);
	}

	private void handle(Role role, RoleEvent event, @Nullable Round round) {
		handle(role, event, round, null);
	}

	private void handle(Role role, RoleEvent event, @Nullable Round round, @Nullable String detail) {
		RoleState before = role.state;
		RoleStateMachine.Step step = role.machine.next(before, event, this.clock.nanos(), this.random.getAsDouble());
		role.state = step.state();
		this.changed = this.changed || role.state.due() != before.due() || role.state.timer() != before.timer();
		for (RoleEffect effect : step.effects()) {
			carryOut(role, effect, round, detail);
		}
		if (role.state.getClass() != before.getClass()) {
			entered(role, before, event);
		}
		endDrain(role);
	}

	private void carryOut(Role role, RoleEffect effect, @Nullable Round round, @Nullable String detail) {
		if (effect instanceof RoleEffect.RequestLease request && round != null) {
			round.leaseCalls.add(new Round.LeaseCall(request.requestId(),
					new LeaseRequest(role.name, role.settings.leaseTtl(), request.heldToken(), request.tokenFloor())));
		}
		else if (effect instanceof RoleEffect.ReleaseLease release && round != null) {
			String owner = (role.term != null && release.token().isPresent()
					&& role.term.token().value() == release.token().getAsLong()) ? role.term.ownerId() : this.ownerId;
			round.releaseCalls.add(new Round.ReleaseCall(release.requestId(), role.name, owner, release.token()));
		}
		else if (effect instanceof RoleEffect.Grant grant) {
			Term term = new Term(new FencingToken(role.name, grant.token()), this.ownerId, this.clock, grant.deadline(),
					wallDeadline(role, grant.sentAt(), grant.deadline()));
			role.term = term;
			role.warnedOfSilence = false;
			this.host.granted(term.token(), role.settings.leaseTtl());
			role.interests.forEach((interest) -> startWork(term, interest));
		}
		else if (effect instanceof RoleEffect.Extend extend && role.term != null) {
			if (!role.term.extend(extend.deadline(), wallDeadline(role, extend.sentAt(), extend.deadline()))) {
				handle(role, new RoleEvent.Ended(reasonOfExpiry(role.term)));
			}
		}
		else if (effect instanceof RoleEffect.Revoke revoke && role.term != null) {
			Term term = role.term;
			term.end();
			term.activeWork().forEach(this.host::interrupt);
			this.host.revoked(term.token(), revoke.reason(), detail);
		}
	}

	private static RevocationReason reasonOfExpiry(Term term) {
		return term.isClockJumped() ? RevocationReason.CLOCK_JUMPED : RevocationReason.DEADLINE_PASSED;
	}

	private static long wallDeadline(Role role, long sentAt, long deadline) {
		return role.wallSentAt + TimeUnit.NANOSECONDS.toMillis(deadline - sentAt);
	}

	private void entered(Role role, RoleState before, RoleEvent event) {
		role.since = Instant.ofEpochMilli(this.clock.wallMillis());
		role.reason = reason(role.state, before, event);
		forgetIfUnused(role);
	}

	private static String reason(RoleState state, RoleState before, RoleEvent event) {
		if (state instanceof Leading) {
			return "acquired the lease";
		}
		if (state instanceof Draining draining) {
			return "term ended: " + describe(draining.reason()) + "; waiting for its work to end";
		}
		if (state instanceof Releasing releasing) {
			return releasing.token().isPresent() ? "work has ended; releasing the lease"
					: "looking for the lease of an attempt whose outcome is unknown";
		}
		if (state instanceof BackingOff backingOff) {
			return "leaves the role to other nodes after " + ((backingOff.memory().failures() > 0)
					? "%d failed term(s) in a row".formatted(backingOff.memory().failures()) : "a step-down");
		}
		if (state instanceof Standby) {
			return (before instanceof Stopped) ? "contends" : "contends again";
		}
		return (event instanceof RoleEvent.Abandon) ? "stopped before its lease was released" : "stopped";
	}

	private static String describe(RevocationReason reason) {
		return switch (reason) {
			case LEASE_LOST -> "the lease was lost";
			case DEADLINE_PASSED -> "no renewal was confirmed in time";
			case CLOCK_JUMPED -> "the wall clock ran ahead of the deadline";
			case STALLED -> "work got stuck";
			case WORK_FAILED -> "work failed";
			case STEPPED_DOWN -> "stepped down";
			case STOPPED -> "stopping";
		};
	}

	private static @Nullable String describe(Role role, LeaseResult result) {
		if (!(role.state instanceof Leading) || result.acquired()) {
			return null;
		}
		if (result.ownerId() == null) {
			return "the store has no lease of the role";
		}
		return "the lease is with '%s', token %d".formatted(result.ownerId(), result.fencingToken());
	}

	/**
	 * What the core asks of the elector. No method may block.
	 */
	interface Host {

		void start(ActiveWork work);

		void interrupt(ActiveWork work);

		void granted(FencingToken token, Duration ttl);

		void revoked(FencingToken token, RevocationReason reason, @Nullable String detail);

		void stalled(ActiveWork work, Duration silence);

		void silent(ActiveWork work, Duration silence);

	}

	/**
	 * What is sent to the store at one time.
	 */
	static final class Round {

		private final String ownerId;

		private final List<LeaseCall> leaseCalls = new ArrayList<>();

		private final List<ReleaseCall> releaseCalls = new ArrayList<>();

		Round(String ownerId) {
			this.ownerId = ownerId;
		}

		String ownerId() {
			return this.ownerId;
		}

		List<LeaseCall> leaseCalls() {
			return this.leaseCalls;
		}

		List<ReleaseCall> releaseCalls() {
			return this.releaseCalls;
		}

		record LeaseCall(long requestId, LeaseRequest request) {
		}

		record ReleaseCall(long requestId, String role, String ownerId, OptionalLong token) {
		}

	}

	private final class Role {

		private final String name;

		private final List<Interest> interests = new ArrayList<>();

		private RoleSettings settings;

		private boolean settingsFromTask;

		private RoleStateMachine machine;

		private RoleState state = RoleStateMachine.initial();

		private @Nullable Term term;

		private long wallSentAt;

		private Instant since;

		private String reason = "not started";

		private boolean warnedOfSilence;

		Role(String name, RoleSettings settings, boolean settingsFromTask) {
			this.name = name;
			this.settings = settings;
			this.settingsFromTask = settingsFromTask;
			this.machine = machine(RoleTimes.of(settings, ElectionCore.this.drainTimeout));
			this.since = Instant.ofEpochMilli(ElectionCore.this.clock.wallMillis());
		}

		void useSettings(LeaderTask task) {
			RoleSettings wanted = task.settings();
			if (wanted == null || wanted.equals(this.settings)) {
				return;
			}
			if (this.settingsFromTask || !(this.state instanceof Stopped)) {
				// Not under a term or a request with other times: a renewal with a
				// shorter
				// TTL would shorten the lease and not what is believed of it, and an
				// answer to a shorter request would be taken for one to a longer.
				throw new IllegalArgumentException(
						"Role '%s' has settings '%s', and '%s' asks for others: '%s'. Give all tasks of a role the same settings, before the elector contends"
							.formatted(this.name, this.settings, task.description(), wanted));
			}
			this.settings = wanted;
			this.settingsFromTask = true;
			this.machine = machine(RoleTimes.of(wanted, ElectionCore.this.drainTimeout));
		}

		long stallTimeout() {
			return (this.settings.stallTimeout() != null) ? this.settings.stallTimeout().toNanos() : 0;
		}

		long silenceLimit() {
			return (stallTimeout() > 0) ? stallTimeout() : SILENT_TTLS * this.settings.leaseTtl().toNanos();
		}

		List<ActiveWork> activeWork() {
			return (this.term != null) ? this.term.activeWork() : List.of();
		}

		List<ActiveWork> workOf(Interest interest) {
			return activeWork().stream().filter((work) -> work.interest().equals(interest)).toList();
		}

	}

	/**
	 * A registered task. Two registrations of equal tasks are two interests.
	 */
	static final class Interest {

		private final LeaderTask task;

		Interest(LeaderTask task) {
			this.task = task;
		}

		LeaderTask task() {
			return this.task;
		}

	}

}
