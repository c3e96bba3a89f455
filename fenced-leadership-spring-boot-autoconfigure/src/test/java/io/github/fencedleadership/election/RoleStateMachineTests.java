package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

import org.junit.jupiter.api.Test;

import io.github.fencedleadership.election.RoleStateMachine.Step;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link RoleStateMachine} under events in any order.
 */
class RoleStateMachineTests {

	private static final int SEEDS = 3000;

	private static final int STEPS = 300;

	private static final List<RevocationReason> REASONS = List.of(RevocationReason.values());

	private static final List<Outcome> OUTCOMES = List.of(Outcome.GRANTED, Outcome.GRANTED, Outcome.RENEWED,
			Outcome.RENEWED, Outcome.REFUSED, Outcome.BUSY);

	@Test
	void whateverHappensItsPromisesHold() {
		int grants = 0;
		for (long seed = 0; seed < SEEDS; seed++) {
			grants += new Run(seed).go();
		}
		assertThat(grants).as("grants, without which nothing was tested").isGreaterThan(SEEDS);
	}

	private static final class Run {

		private final Random random;

		private final String description;

		private final RoleStateMachine machine = new RoleStateMachine(
				RoleTimes.of(RoleSettings.of(Duration.ofSeconds(30)), Duration.ofSeconds(20)));

		private RoleState state = RoleStateMachine.initial();

		private long now;

		private long lastId;

		private long requestId;

		private long sentAt;

		private long deadline;

		private long lastToken;

		private boolean led;

		private boolean working;

		private int grants;

		Run(long seed) {
			this.random = new Random(seed);
			this.description = "seed " + seed;
		}

		int go() {
			for (int i = 0; i < STEPS; i++) {
				this.now += Duration.ofMillis(this.random.nextInt((this.random.nextInt(10) == 0) ? 20000 : 500))
					.toNanos();
				step(nextEvent());
			}
			return this.grants;
		}

		private RoleEvent nextEvent() {
			return switch (this.random.nextInt(16)) {
				case 0, 1 -> new RoleEvent.Contend();
				case 2 -> (this.random.nextInt(8) == 0) ? new RoleEvent.Stop() : new RoleEvent.Tick();
				case 3 -> (this.random.nextInt(12) == 0) ? new RoleEvent.Abandon() : new RoleEvent.Tick();
				case 4 -> (this.random.nextInt(4) == 0) ? new RoleEvent.StepDown() : new RoleEvent.Tick();
				case 5 -> (this.random.nextInt(4) == 0)
						? new RoleEvent.Ended(REASONS.get(this.random.nextInt(REASONS.size()))) : new RoleEvent.Tick();
				case 6, 7, 8, 9 -> new RoleEvent.Send(++this.lastId);
				case 10, 11, 12 -> new RoleEvent.Answered(someRequest(), this.sentAt, someResult());
				case 13 -> new RoleEvent.Released(someRequest());
				case 14 -> new RoleEvent.Unanswered(someRequest());
				default -> this.working ? drained() : new RoleEvent.Tick();
			};
		}

		private RoleEvent drained() {
			if (this.led) {
				return new RoleEvent.Tick();
			}
			this.working = false;
			return new RoleEvent.Drained();
		}

		private long someRequest() {
			// Now and then an answer that comes late or twice.
			return (this.random.nextInt(5) == 0) ? this.random.nextLong(this.requestId + 1) : this.requestId;
		}

		private LeaseResult someResult() {
			Outcome outcome = OUTCOMES.get(this.random.nextInt(OUTCOMES.size()));
			long token = switch (outcome) {
				case GRANTED -> this.lastToken + 1;
				case RENEWED -> Math.max(1, this.lastToken);
				case REFUSED -> this.lastToken + this.random.nextInt(2);
				case BUSY -> 0;
			};
			return new LeaseResult("role", outcome, token, null, null, Duration.ofSeconds(this.random.nextInt(30)));
		}

		private void step(RoleEvent event) {
			RoleState before = this.state;
			Step step = this.machine.next(before, event, this.now, this.random.nextDouble());
			Supplier<String> context = () -> this.description + ": " + before + " on " + event + " at " + this.now
					+ " gives " + step;
			this.state = step.state();
			List<RoleEffect> effects = step.effects();
			for (RoleEffect effect : effects) {
				check(effect, context);
			}
			if (this.led) {
				assertThat(this.state).as(context).isInstanceOf(RoleState.Leading.class);
				assertThat(this.now).as(context).isLessThan(this.deadline);
			}
			else {
				assertThat(this.state).as(context).isNotInstanceOf(RoleState.Leading.class);
			}
			if (this.working && !this.led) {
				assertThat(this.state).as(context).isInstanceOf(RoleState.Draining.class);
			}
			if (this.state instanceof RoleState.Draining && !this.working) {
				throw new AssertionError(context.get());
			}
		}

		private void check(RoleEffect effect, Supplier<String> context) {
			if (effect instanceof RoleEffect.Grant grant) {
				assertThat(this.working).as(context).isFalse();
				assertThat(grant.token()).as(context).isGreaterThan(this.lastToken);
				assertThat(grant.deadline()).as(context)
					.isGreaterThan(this.now)
					.isLessThanOrEqualTo(this.sentAt + Duration.ofSeconds(27).toNanos());
				this.lastToken = grant.token();
				this.deadline = grant.deadline();
				this.led = true;
				this.working = true;
				this.grants++;
			}
			else if (effect instanceof RoleEffect.Extend extend) {
				assertThat(this.led).as(context).isTrue();
				assertThat(extend.token()).as(context).isEqualTo(this.lastToken);
				assertThat(this.now).as(context).isLessThan(this.deadline);
				this.deadline = extend.deadline();
			}
			else if (effect instanceof RoleEffect.Revoke revoke) {
				assertThat(this.led).as(context).isTrue();
				assertThat(revoke.token()).as(context).isEqualTo(this.lastToken);
				this.led = false;
			}
			else if (effect instanceof RoleEffect.RequestLease request) {
				this.sentAt = this.now;
				this.requestId = request.requestId();
				if (request.heldToken().isPresent()) {
					assertThat(this.working).as(context).isTrue();
					assertThat(request.heldToken()).as(context).hasValue(this.lastToken);
				}
				else {
					assertThat(this.working).as(context).isFalse();
				}
			}
			else if (effect instanceof RoleEffect.ReleaseLease release) {
				this.requestId = release.requestId();
				assertThat(this.working).as(context).isFalse();
			}
		}

	}

}
