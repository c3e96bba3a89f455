package io.github.fencedleadership.election;

import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;

import io.github.fencedleadership.election.RoleEffect.Extend;
import io.github.fencedleadership.election.RoleEffect.Grant;
import io.github.fencedleadership.election.RoleEvent.Answered;
import io.github.fencedleadership.election.RoleEvent.Ended;
import io.github.fencedleadership.election.RoleEvent.Send;
import io.github.fencedleadership.election.RoleEvent.Stop;
import io.github.fencedleadership.election.RoleEvent.Unanswered;
import io.github.fencedleadership.election.RoleState.Draining;
import io.github.fencedleadership.election.RoleState.Leading;
import io.github.fencedleadership.election.RoleState.Releasing;
import io.github.fencedleadership.election.RoleState.Standby;
import io.github.fencedleadership.election.RoleState.Stopped;
import io.github.fencedleadership.election.RoleStateMachine.Step;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;
import io.github.fencedleadership.lease.LeaseStore;

/**
 * Bugs put in on purpose, most of which others have had, to see that the
 * {@link Simulation} finds them. Each replaces one part of a node, or of the store, by
 * one that is wrong.
 */
enum Sabotage {

	/** Nothing is wrong. */
	NONE,

	/** The deadline is counted from when the answer arrived. */
	DEADLINE_FROM_REPLY {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				Step next(RoleState state, RoleEvent event, long now, double random) {
					return super.next(state, (event instanceof Answered answered)
							? new Answered(answered.requestId(), now, answered.result()) : event, now, random);
				}

			};
		}

	},

	/** The deadline is the expiry of the lease, without a margin. */
	MARGIN_IGNORED {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new RoleStateMachine(
					new RoleTimes(times.ttl(), times.renewInterval(), times.pollInterval(), 0, times.drainTimeout()));
		}

	},

	/** The deadline is kept by the wall clock. */
	WALL_CLOCK_DEADLINE {

		@Override
		ElectionClock clock(ElectionClock clock) {
			long origin = clock.wallMillis();
			return new ElectionClock() {

				@Override
				public long nanos() {
					return Duration.ofMillis(clock.wallMillis() - origin).plusDays(1).toNanos();
				}

				@Override
				public long wallMillis() {
					return 0;
				}

			};
		}

	},

	/** Nobody compares the monotonic clock with the wall clock. */
	SUSPENSION_UNNOTICED {

		@Override
		ElectionClock clock(ElectionClock clock) {
			return new ElectionClock() {

				@Override
				public long nanos() {
					return clock.nanos();
				}

				@Override
				public long wallMillis() {
					return 0;
				}

			};
		}

	},

	/** Belief has no end of its own: only an answer of the store revokes. */
	REVOKED_BY_ANSWERS_ONLY {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				Step next(RoleState state, RoleEvent event, long now, double random) {
					return endless(super.next((state instanceof Leading leading) ? endless(leading) : state, event, now,
							random));
				}

				private Leading endless(Leading it) {
					return new Leading(it.memory(), it.token(), it.grantedAt(), RoleState.NEVER / 2, it.sendFrom(),
							it.sendAt(), it.pending());
				}

				private Step endless(Step step) {
					return new Step(step.state(), step.effects().stream().map(this::endless).toList());
				}

				private RoleEffect endless(RoleEffect effect) {
					if (effect instanceof Grant grant) {
						return new Grant(grant.token(), grant.sentAt(), RoleState.NEVER / 2);
					}
					return (effect instanceof Extend extend)
							? new Extend(extend.token(), extend.sentAt(), RoleState.NEVER / 2) : effect;
				}

			};
		}

	},

	/** A renewal without an answer is taken for one that has worked. */
	UNANSWERED_TAKEN_FOR_RENEWED {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				Step next(RoleState state, RoleEvent event, long now, double random) {
					return super.next(state,
							(state instanceof Leading leading && event instanceof Unanswered unanswered)
									? new Answered(unanswered.requestId(), now, renewed(leading.token())) : event,
							now, random);
				}

			};
		}

	},

	/** An answer is taken for one to whatever was asked last. */
	ANSWERS_NOT_MATCHED {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				private long sentAt;

				@Override
				Step next(RoleState state, RoleEvent event, long now, double random) {
					if (event instanceof Send) {
						this.sentAt = now;
					}
					return super.next(state,
							(event instanceof Answered answered)
									? new Answered(state.pending(), this.sentAt, answered.result()) : event,
							now, random);
				}

			};
		}

	},

	/** An answer that comes after the deadline revives the term. */
	LATE_ANSWER_REVIVES {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				Step next(RoleState state, RoleEvent event, long now, double random) {
					if (state instanceof Draining draining && event instanceof Answered answered
							&& draining.reason() == RevocationReason.DEADLINE_PASSED
							&& draining.pending() == answered.requestId() && answered.result().acquired()) {
						long deadline = now + times.belief();
						return new Step(
								new Leading(draining.memory(), draining.token(), now, deadline,
										now + times.renewInterval(), now + times.renewInterval(), RoleState.NO_REQUEST),
								new Grant(draining.token(), now, deadline));
					}
					return super.next(state, event, now, random);
				}

			};
		}

	},

	/** The lease is renewed until the work ends, also after the deadline. */
	RENEWED_AFTER_DEADLINE {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				RoleState altered(RoleState state, long now) {
					return (state instanceof Draining draining && draining.reason() == RevocationReason.DEADLINE_PASSED
							&& !draining.leaseGone()) ? renewedForEver(draining) : state;
				}

			};
		}

	},

	/** A term is granted to listeners again with every renewal. */
	GRANTED_AGAIN {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				Step next(RoleState state, RoleEvent event, long now, double random) {
					Step step = super.next(state, event, now, random);
					return new Step(step.state(), step.effects()
						.stream()
						.flatMap((effect) -> (effect instanceof Extend extend)
								? Stream.of(effect, new Grant(extend.token(), extend.sentAt(), extend.deadline()))
								: Stream.of(effect))
						.toList());
				}

			};
		}

	},

	/** The lease is released when work is told to end, not when it has. */
	RELEASED_BEFORE_DRAIN {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				RoleState altered(RoleState state, long now) {
					return (state instanceof Draining it && it.renewing()) ? new Releasing(it.memory(),
							OptionalLong.of(it.token()), now + times.ttl(), it.holdOff(), now, RoleState.NO_REQUEST)
							: state;
				}

			};
		}

	},

	/** The lease is not renewed while work drains. */
	NOT_RENEWED_DURING_DRAIN {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				RoleState altered(RoleState state, long now) {
					return (state instanceof Draining draining && draining.renewing()) ? draining.letLapse(false)
							: state;
				}

			};
		}

	},

	/** The node contends again although work of the term before still runs. */
	CONTENDS_WHILE_WORK_RUNS {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				RoleState altered(RoleState state, long now) {
					return (state instanceof Draining draining && draining.memory().wanted()
							&& draining.reason() == RevocationReason.DEADLINE_PASSED)
									? Standby.from(draining.memory(), now) : state;
				}

			};
		}

	},

	/** A stop forgets an attempt whose outcome is unknown. */
	NOT_READ_BACK_AT_STOP {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				Step next(RoleState state, RoleEvent event, long now, double random) {
					if (event instanceof Stop && state instanceof Standby standby) {
						return new Step(new Stopped(standby.memory().withWanted(false)));
					}
					return super.next(state, event, now, random);
				}

			};
		}

	},

	/** Work that is stuck keeps its lease until it ends. */
	STALLED_STILL_RENEWED {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				RoleState altered(RoleState state, long now) {
					return (state instanceof Draining draining && draining.reason() == RevocationReason.STALLED
							&& !draining.leaseGone()) ? renewedForEver(draining) : state;
				}

			};
		}

	},

	/** Nobody minds that work is stuck. */
	STALL_UNNOTICED {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				Step next(RoleState state, RoleEvent event, long now, double random) {
					return (event instanceof Ended ended && ended.reason() == RevocationReason.STALLED)
							? new Step(state) : super.next(state, event, now, random);
				}

			};
		}

	},

	/** A call that fails is the last one. */
	OUTAGE_ENDS_CONTENTION {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				Step next(RoleState state, RoleEvent event, long now, double random) {
					return (event instanceof Unanswered) ? new Step(state) : super.next(state, event, now, random);
				}

			};
		}

	},

	/** A standby asks again at once. */
	HOT_LOOP {

		@Override
		RoleStateMachine machine(RoleTimes times) {
			return new Altered(times) {

				@Override
				RoleState altered(RoleState state, long now) {
					return (state instanceof Standby standby && standby.pending() == RoleState.NO_REQUEST)
							? standby.dueAt(now) : state;
				}

			};
		}

	},

	/** Two processes have the same owner id. */
	EQUAL_OWNER_IDS {

		@Override
		String ownerId(String name, int incarnation) {
			return "node";
		}

	},

	/** An owner that comes back after its lease has lapsed gets the token that it had. */
	TOKEN_NOT_RAISED {

		@Override
		LeaseStore store(LeaseStore store, Simulation simulation) {
			return new AlteredStore(store) {

				private final Map<String, Long> shifts = new HashMap<>();

				@Override
				LeaseResult request(String ownerId, LeaseRequest request) {
					long shift = shift(request.role());
					Optional<Lease> before = this.delegate.find(request.role());
					LeaseResult result = super.request(ownerId,
							new LeaseRequest(request.role(), request.ttl(), request.heldToken().isPresent()
									? OptionalLong.of(request.heldToken().getAsLong() + shift) : OptionalLong.empty(),
									0));
					if (result.outcome() == Outcome.GRANTED && before.isPresent()
							&& before.get().ownerId().equals(ownerId)) {
						shift++;
						this.shifts.put(request.role(), shift);
					}
					return new LeaseResult(result.role(), result.outcome(), result.fencingToken() - shift,
							result.ownerId(), result.expiresAt(), result.remaining());
				}

				@Override
				public boolean release(String role, String ownerId, long fencingToken) {
					return super.release(role, ownerId, fencingToken + shift(role));
				}

				@Override
				public List<Lease> findAll() {
					return super.findAll().stream()
						.map((lease) -> new Lease(lease.role(), lease.ownerId(),
								lease.fencingToken() - shift(lease.role()), lease.acquiredAt(), lease.renewedAt(),
								lease.expiresAt(), lease.remaining()))
						.toList();
				}

				private long shift(String role) {
					return this.shifts.getOrDefault(role, 0L);
				}

			};
		}

	},

	/** A renewal takes the role if its lease has lapsed. */
	RENEWAL_ACQUIRES {

		@Override
		LeaseStore store(LeaseStore store, Simulation simulation) {
			return new AlteredStore(store) {

				@Override
				LeaseResult request(String ownerId, LeaseRequest request) {
					return super.request(ownerId,
							LeaseRequest.acquire(request.role(), request.ttl(), request.tokenFloor()));
				}

			};
		}

	},

	/** A release looks at the owner and not at the token. */
	RELEASED_BY_OWNER_ONLY {

		@Override
		LeaseStore store(LeaseStore store, Simulation simulation) {
			return new AlteredStore(store) {

				@Override
				public boolean release(String role, String ownerId, long fencingToken) {
					return super.release(role, ownerId,
							find(role).filter((lease) -> lease.ownerId().equals(ownerId))
								.map(Lease::fencingToken)
								.orElse(fencingToken));
				}

			};
		}

	},

	/** The wall clock of the node that asks decides whether a lease has lapsed. */
	EXPIRY_BY_CLOCK_OF_NODE {

		@Override
		LeaseStore store(LeaseStore store, Simulation simulation) {
			return new AlteredStore(store) {

				@Override
				LeaseResult request(String ownerId, LeaseRequest request) {
					find(request.role())
						.filter((lease) -> !lease.ownerId().equals(ownerId)
								&& lease.expiresAt().isBefore(Instant.ofEpochMilli(simulation.wallMillis(ownerId))))
						.ifPresent((lease) -> release(lease.role(), lease.ownerId(), lease.fencingToken()));
					return super.request(ownerId, request);
				}

			};
		}

	};

	RoleStateMachine machine(RoleTimes times) {
		return new RoleStateMachine(times);
	}

	ElectionClock clock(ElectionClock clock) {
		return clock;
	}

	String ownerId(String name, int incarnation) {
		return name + "#" + incarnation;
	}

	LeaseStore store(LeaseStore store, Simulation simulation) {
		return store;
	}

	/**
	 * A state machine that enters other states.
	 */
	static class Altered extends RoleStateMachine {

		Altered(RoleTimes times) {
			super(times);
		}

		@Override
		Step next(RoleState state, RoleEvent event, long now, double random) {
			Step step = super.next(state, event, now, random);
			RoleState altered = altered(step.state(), now);
			return (altered == step.state()) ? step : new Step(altered, step.effects());
		}

		RoleState altered(RoleState state, long now) {
			return state;
		}

		static Draining renewedForEver(Draining it) {
			return new Draining(it.memory(), it.token(), it.reason(), RoleState.NEVER, true, it.leaseGone(),
					RoleState.NEVER, it.holdOff(), it.sendAt(), it.pending());
		}

		static LeaseResult renewed(long token) {
			return new LeaseResult("any", Outcome.RENEWED, token, "this node", Instant.EPOCH, Duration.ZERO);
		}

	}

	/**
	 * A store that does something else with what it is asked.
	 */
	static class AlteredStore implements LeaseStore {

		final LeaseStore delegate;

		AlteredStore(LeaseStore delegate) {
			this.delegate = delegate;
		}

		@Override
		public List<LeaseResult> tryAcquireOrRenew(String ownerId, Collection<LeaseRequest> requests) {
			return requests.stream().map((request) -> request(ownerId, request)).toList();
		}

		LeaseResult request(String ownerId, LeaseRequest request) {
			return this.delegate.tryAcquireOrRenew(ownerId, List.of(request)).get(0);
		}

		@Override
		public boolean release(String role, String ownerId, long fencingToken) {
			return this.delegate.release(role, ownerId, fencingToken);
		}

		@Override
		public Optional<Lease> find(String role) {
			return findAll().stream().filter((lease) -> lease.role().equals(role)).findFirst();
		}

		@Override
		public List<Lease> findAll() {
			return this.delegate.findAll();
		}

	}

}
