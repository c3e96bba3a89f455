package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Stream;

import io.github.fencedleadership.election.RoleEffect.Extend;
import io.github.fencedleadership.election.RoleEffect.Grant;
import io.github.fencedleadership.election.RoleEffect.ReleaseLease;
import io.github.fencedleadership.election.RoleEffect.RequestLease;
import io.github.fencedleadership.election.RoleEffect.Revoke;
import io.github.fencedleadership.election.RoleEvent.Abandon;
import io.github.fencedleadership.election.RoleEvent.Answered;
import io.github.fencedleadership.election.RoleEvent.Contend;
import io.github.fencedleadership.election.RoleEvent.Drained;
import io.github.fencedleadership.election.RoleEvent.Ended;
import io.github.fencedleadership.election.RoleEvent.Released;
import io.github.fencedleadership.election.RoleEvent.Send;
import io.github.fencedleadership.election.RoleEvent.StepDown;
import io.github.fencedleadership.election.RoleEvent.Stop;
import io.github.fencedleadership.election.RoleEvent.Tick;
import io.github.fencedleadership.election.RoleEvent.Unanswered;
import io.github.fencedleadership.election.RoleEvent.Vacated;
import io.github.fencedleadership.election.RoleState.BackingOff;
import io.github.fencedleadership.election.RoleState.Draining;
import io.github.fencedleadership.election.RoleState.Leading;
import io.github.fencedleadership.election.RoleState.Memory;
import io.github.fencedleadership.election.RoleState.Releasing;
import io.github.fencedleadership.election.RoleState.Standby;
import io.github.fencedleadership.election.RoleState.Stopped;
import io.github.fencedleadership.lease.LeaseResult;

/**
 * The rules of one role on one node, as a pure function: state and event to state and
 * effects. No thread, no clock, no I/O.
 * <p>
 * What holds by its shape: only {@link Standby} can be granted a term, and it is reached
 * only when no work of an earlier term runs; {@link Releasing} is reached from a term
 * only through {@link Drained}; a term leaves {@link Leading} with exactly one
 * {@link Revoke}; an answer to a request that is no longer pending changes nothing.
 */
class RoleStateMachine {

	private final RoleTimes times;

	RoleStateMachine(RoleTimes times) {
		this.times = times;
	}

	static RoleState initial() {
		return new Stopped(new Memory(false, 0, 0, 0));
	}

	/**
	 * Carry out one step.
	 * @param state the state
	 * @param event what happens
	 * @param now the instant at which it happens
	 * @param random a random number from 0 to 1
	 * @return the new state and what is to be done
	 */
	Step next(RoleState state, RoleEvent event, long now, double random) {
		if (state instanceof Leading leading && now >= leading.deadline()) {
			// Whatever has happened, it happened after the deadline.
			Step revoked = revoke(leading, RevocationReason.DEADLINE_PASSED, now, random);
			return revoked.then(next(revoked.state(), event, now, random));
		}
		if (state instanceof Draining draining && draining.renewing() && now >= draining.timer()) {
			return next(draining.letLapse(false), event, now, random);
		}
		if (event instanceof Contend) {
			return contend(state, now);
		}
		if (event instanceof Stop) {
			return stop(state, now, random);
		}
		if (event instanceof Abandon) {
			return abandon(state, now, random);
		}
		if (event instanceof StepDown) {
			return end(state, RevocationReason.STEPPED_DOWN, now, random);
		}
		if (event instanceof Ended ended) {
			return end(state, ended.reason(), now, random);
		}
		if (event instanceof Vacated) {
			return new Step((state instanceof Standby standby) ? standby.dueAt(now) : state);
		}
		if (event instanceof Send send) {
			return send(state, send.requestId(), now);
		}
		if (event instanceof Answered answered) {
			return answered(state, answered, now, random);
		}
		if (event instanceof Released released) {
			return released(state, released, now);
		}
		if (event instanceof Unanswered unanswered) {
			return unanswered(state, unanswered, now, random);
		}
		if (event instanceof Tick) {
			return tick(state, now);
		}
		if (event instanceof Drained) {
			return drained(state, now);
		}
		throw new IllegalStateException("Unknown event " + event);
	}

	private Step contend(RoleState state, long now) {
		Memory memory = state.memory().withWanted(true);
		return new Step((state instanceof Stopped) ? Standby.from(memory, now) : state.withMemory(memory));
	}

	private Step stop(RoleState state, long now, double random) {
		RoleState unwanted = state.withMemory(state.memory().withWanted(false));
		if (unwanted instanceof Standby standby && standby.pending() == RoleState.NO_REQUEST) {
			return standby.uncertain() ? release(standby.memory(), OptionalLong.empty(), 0, now)
					: new Step(new Stopped(standby.memory()));
		}
		if (unwanted instanceof BackingOff backingOff) {
			return new Step(new Stopped(backingOff.memory()));
		}
		return end(unwanted, RevocationReason.STOPPED, now, random);
	}

	private Step abandon(RoleState state, long now, double random) {
		Memory memory = state.memory().withWanted(false);
		if (state instanceof Leading leading) {
			Step revoked = revoke(leading, RevocationReason.STOPPED, now, random);
			return revoked.then(abandon(revoked.state(), now, random));
		}
		if (state instanceof Draining draining) {
			return new Step(draining.letLapse(draining.leaseGone()).withMemory(memory));
		}
		return new Step(new Stopped(memory));
	}

	private Step end(RoleState state, RevocationReason reason, long now, double random) {
		return (state instanceof Leading leading) ? revoke(leading, reason, now, random) : new Step(state);
	}

	private Step revoke(Leading leading, RevocationReason reason, long now, double random) {
		boolean leaseGone = reason == RevocationReason.LEASE_LOST;
		boolean renewing = reason == RevocationReason.WORK_FAILED || reason == RevocationReason.STEPPED_DOWN
				|| reason == RevocationReason.STOPPED;
		Memory memory = leading.memory();
		long holdOff = 0;
		if (reason == RevocationReason.WORK_FAILED || reason == RevocationReason.STALLED) {
			boolean lasted = now - leading.grantedAt() > this.times.maxHoldOff();
			memory = memory.withFailures(lasted ? 1 : memory.failures() + 1);
			holdOff = this.times.holdOff(memory.failures(), random);
		}
		else if (reason == RevocationReason.STEPPED_DOWN) {
			holdOff = this.times.holdOff(0, random);
		}
		return new Step(
				new Draining(memory, leading.token(), reason, leading.deadline(), renewing, leaseGone,
						now + this.times.drainTimeout(), holdOff, leading.sendAt(), leading.pending()),
				new Revoke(leading.token(), reason));
	}

	private Step send(RoleState state, long requestId, long now) {
		if (state.earliest() > now) {
			return new Step(state);
		}
		if (state instanceof Standby standby) {
			return new Step(new Standby(standby.memory(), now, now, standby.uncertain(), requestId),
					new RequestLease(requestId, OptionalLong.empty(), standby.memory().highestSeen()));
		}
		if (state instanceof Leading leading) {
			return new Step(leading.withPending(requestId),
					new RequestLease(requestId, OptionalLong.of(leading.token()), leading.memory().highestSeen()));
		}
		if (state instanceof Draining draining) {
			return new Step(draining.withPending(requestId),
					new RequestLease(requestId, OptionalLong.of(draining.token()), draining.memory().highestSeen()));
		}
		if (state instanceof Releasing releasing) {
			return new Step(releasing.withPending(requestId), new ReleaseLease(requestId, releasing.token()));
		}
		return new Step(state);
	}

	private Step answered(RoleState state, Answered answered, long now, double random) {
		LeaseResult result = answered.result();
		Memory seen = state.memory().withSeen(result.fencingToken());
		if (state instanceof Standby standby && standby.pending() == answered.requestId()) {
			return answeredStandby((Standby) standby.withMemory(seen), answered, now, random);
		}
		if (state instanceof Leading leading && leading.pending() == answered.requestId()) {
			return answeredLeading((Leading) leading.withMemory(seen), answered, now, random);
		}
		if (state instanceof Draining draining && draining.pending() == answered.requestId()) {
			return answeredDraining((Draining) draining.withMemory(seen), answered, now, random);
		}
		return new Step(state.withMemory(seen));
	}

	private Step answeredStandby(Standby standby, Answered answered, long now, double random) {
		LeaseResult result = answered.result();
		Memory memory = standby.memory();
		switch (result.outcome()) {
			case GRANTED, RENEWED -> {
				long token = result.fencingToken();
				long deadline = answered.sentAt() + this.times.belief();
				if (!memory.wanted() || now >= deadline || token <= memory.highestOwn()
						|| token < memory.highestSeen()) {
					// Not wanted any more, too late to believe in, or the remains of a
					// term that is over.
					return release(memory.withOwn(token), OptionalLong.of(token), 0, now);
				}
				return new Step(
						new Leading(memory.withOwn(token), token, now, deadline, renewEarliest(answered.sentAt()),
								answered.sentAt() + this.times.renewInterval(), RoleState.NO_REQUEST),
						new Grant(token, answered.sentAt(), deadline));
			}
			case REFUSED -> {
				if (!memory.wanted()) {
					return new Step(new Stopped(memory));
				}
				if (standby.sendAt() > answered.sentAt()) {
					// Vacated since; this answer may be from before that.
					return new Step(Standby.from(memory, now));
				}
				long poll = this.times.pollInterval();
				Duration remaining = result.remaining();
				if (remaining.compareTo(Duration.ZERO) > 0 && remaining.compareTo(Duration.ofNanos(poll)) < 0) {
					// With many roles that lapse together, the first one takes the others
					// along
					long expiry = now + remaining.toNanos();
					return new Step(new Standby(memory, expiry, expiry + this.times.expiryJitter(random), false,
							RoleState.NO_REQUEST));
				}
				return new Step(new Standby(memory, now + poll / 2, now + poll, false, RoleState.NO_REQUEST));
			}
			case BUSY -> {
				if (!memory.wanted()) {
					return standby.uncertain() ? release(memory, OptionalLong.empty(), 0, now)
							: new Step(new Stopped(memory));
				}
				long due = now + this.times.retry(random);
				return new Step(new Standby(memory, due, due, standby.uncertain(), RoleState.NO_REQUEST));
			}
		}
		throw new IllegalStateException("Unknown outcome " + result.outcome());
	}

	private Step answeredLeading(Leading leading, Answered answered, long now, double random) {
		LeaseResult result = answered.result();
		if (result.outcome() == LeaseResult.Outcome.BUSY) {
			return new Step(leading.retryAt(now + this.times.retry(random)));
		}
		if (!isRenewal(result, leading.token())) {
			return revoke(leading.withPending(RoleState.NO_REQUEST), RevocationReason.LEASE_LOST, now, random);
		}
		// A later answer to an earlier request cannot shorten what is already certain.
		long deadline = Math.max(leading.deadline(), answered.sentAt() + this.times.belief());
		return new Step(new Leading(leading.memory(), leading.token(), leading.grantedAt(), deadline,
				renewEarliest(answered.sentAt()), answered.sentAt() + this.times.renewInterval(), RoleState.NO_REQUEST),
				new Extend(leading.token(), answered.sentAt(), deadline));
	}

	private Step answeredDraining(Draining draining, Answered answered, long now, double random) {
		LeaseResult result = answered.result();
		if (result.outcome() == LeaseResult.Outcome.BUSY) {
			return new Step(draining.renewed(draining.deadline(), now + this.times.retry(random)));
		}
		if (!isRenewal(result, draining.token())) {
			return new Step(draining.withPending(RoleState.NO_REQUEST).letLapse(true));
		}
		if (!draining.renewing()) {
			return new Step(draining.withPending(RoleState.NO_REQUEST));
		}
		return new Step(draining.renewed(Math.max(draining.deadline(), answered.sentAt() + this.times.belief()),
				answered.sentAt() + this.times.renewInterval()));
	}

	private Step unanswered(RoleState state, Unanswered unanswered, long now, double random) {
		long due = now + this.times.retry(random);
		if (state instanceof Standby standby && standby.pending() == unanswered.requestId()) {
			return standby.memory().wanted()
					? new Step(new Standby(standby.memory(), due, due, true, RoleState.NO_REQUEST))
					: release(standby.memory(), OptionalLong.empty(), 0, now);
		}
		if (state instanceof Leading leading && leading.pending() == unanswered.requestId()) {
			return new Step(leading.retryAt(due));
		}
		if (state instanceof Draining draining && draining.pending() == unanswered.requestId()) {
			return new Step(draining.renewed(draining.deadline(), due));
		}
		if (state instanceof Releasing releasing && releasing.pending() == unanswered.requestId()) {
			return (now >= releasing.giveUpAt()) ? contendAgain(releasing.memory(), releasing.holdOff(), now)
					: new Step(releasing.retryAt(due));
		}
		return new Step(state);
	}

	private Step released(RoleState state, Released released, long now) {
		if (state instanceof Releasing releasing && releasing.pending() == released.requestId()) {
			return contendAgain(releasing.memory(), releasing.holdOff(), now);
		}
		return new Step(state);
	}

	private Step tick(RoleState state, long now) {
		if (state instanceof BackingOff backingOff && now >= backingOff.until()) {
			return new Step(Standby.from(backingOff.memory(), now));
		}
		return new Step(state);
	}

	private Step drained(RoleState state, long now) {
		if (state instanceof Draining draining) {
			return draining.leaseGone() ? contendAgain(draining.memory(), draining.holdOff(), now)
					: release(draining.memory(), OptionalLong.of(draining.token()), draining.holdOff(), now);
		}
		return new Step(state);
	}

	private Step release(Memory memory, OptionalLong token, long holdOff, long now) {
		return new Step(new Releasing(memory, token, now + this.times.ttl(), holdOff, now, RoleState.NO_REQUEST));
	}

	private Step contendAgain(Memory memory, long holdOff, long now) {
		if (!memory.wanted()) {
			return new Step(new Stopped(memory));
		}
		return new Step((holdOff > 0) ? new BackingOff(memory, now + holdOff) : Standby.from(memory, now));
	}

	/**
	 * From half the interval on, a renewal goes along with whatever else is sent. Of two
	 * groups of roles with different rhythms one is always at least half an interval
	 * after the other, so they become one, and so do all groups of a node.
	 */
	private long renewEarliest(long sentAt) {
		return sentAt + this.times.renewInterval() / 2;
	}

	private static boolean isRenewal(LeaseResult result, long token) {
		return result.outcome() == LeaseResult.Outcome.RENEWED && result.fencingToken() == token;
	}

	/**
	 * The result of a step.
	 *
	 * @param state the new state
	 * @param effects what is to be done, in order
	 */
	record Step(RoleState state, List<RoleEffect> effects) {

		Step(RoleState state) {
			this(state, List.of());
		}

		Step(RoleState state, RoleEffect effect) {
			this(state, List.of(effect));
		}

		Step then(Step next) {
			if (this.effects.isEmpty()) {
				return next;
			}
			if (next.effects.isEmpty()) {
				return new Step(next.state, this.effects);
			}
			return new Step(next.state, Stream.concat(this.effects.stream(), next.effects.stream()).toList());
		}

	}

}
