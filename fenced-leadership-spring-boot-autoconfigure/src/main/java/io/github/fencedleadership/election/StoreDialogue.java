package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleSupplier;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.election.ElectionCore.Round;

/**
 * What one incarnation of a node asks of the store, and when: one call after the other,
 * and after a call that failed none before a growing pause. Beats the time of the node's
 * heartbeat too, as that is sent by the same thread.
 * <p>
 * Like {@link ElectionCore}, owns no thread and does not block, and is used under the
 * lock of the elector.
 */
final class StoreDialogue {

	private static final long FIRST_RETRY = Duration.ofMillis(100).toNanos();

	private final String ownerId;

	private final ElectionCore core;

	private final ElectionClock clock;

	private final DoubleSupplier random;

	private final long longestPause;

	private final long heartbeatInterval;

	private long nextHeartbeat;

	private long notBefore;

	private int failures;

	/**
	 * Create a dialogue.
	 * @param ownerId the owner id of the incarnation
	 * @param core what is to be asked
	 * @param clock the clock of the node
	 * @param random supplies random numbers from 0 to 1
	 * @param longestPause how long to leave the store alone at most, in nanoseconds
	 * @param heartbeatInterval how often the node reports that it is alive, in
	 * nanoseconds, {@link RoleState#NEVER} if it does not
	 */
	StoreDialogue(String ownerId, ElectionCore core, ElectionClock clock, DoubleSupplier random, long longestPause,
			long heartbeatInterval) {
		this.ownerId = ownerId;
		this.core = core;
		this.clock = clock;
		this.random = random;
		this.longestPause = longestPause;
		this.heartbeatInterval = heartbeatInterval;
		this.notBefore = clock.nanos();
		this.nextHeartbeat = (heartbeatInterval != RoleState.NEVER) ? this.notBefore : RoleState.NEVER;
	}

	/**
	 * Return when {@link #nextTurn()} has something to do.
	 * @return the instant
	 */
	long nextInstant() {
		return Math.min(nextCall(), this.nextHeartbeat);
	}

	private long nextCall() {
		return Math.max(this.core.nextRound(), this.notBefore);
	}

	/**
	 * Begin a turn if it is time.
	 * @return what is to be done now, {@code null} if there is nothing
	 */
	@Nullable Turn nextTurn() {
		long now = this.clock.nanos();
		boolean heartbeat = now >= this.nextHeartbeat;
		List<StoreCall> calls = (now >= nextCall()) ? beginCalls() : List.of();
		if (heartbeat) {
			this.nextHeartbeat = now + this.heartbeatInterval;
		}
		return (heartbeat || !calls.isEmpty()) ? new Turn(calls, heartbeat) : null;
	}

	private List<StoreCall> beginCalls() {
		Round round = this.core.beginRound();
		List<StoreCall> calls = new ArrayList<>();
		if (!round.leaseCalls().isEmpty()) {
			calls.add(new StoreCall.RequestLeases(this.ownerId, this.clock.nanos(), this.clock.wallMillis(),
					round.leaseCalls()));
		}
		round.releaseCalls()
			.stream()
			.collect(Collectors.groupingBy(Round.ReleaseCall::ownerId))
			.forEach((owner, releases) -> calls.add(new StoreCall.ReleaseLeases(owner, releases)));
		return calls;
	}

	/**
	 * The store has answered.
	 * @param answer the answer
	 * @return after how many calls in a row that failed
	 */
	int answered(StoreCall.Answer answer) {
		int failed = this.failures;
		this.failures = 0;
		answer.tell(this.core);
		return failed;
	}

	/**
	 * A call has failed, be it carried out or not.
	 * @param call the call
	 */
	void failed(StoreCall call) {
		this.failures++;
		double pause = Math.min(FIRST_RETRY * Math.pow(2, this.failures - 1), (double) this.longestPause);
		this.notBefore = this.clock.nanos() + (long) (pause * (1 + this.random.getAsDouble() / 4));
		call.unanswered(this.core);
	}

	/**
	 * Return whether the last call has failed.
	 * @return {@code true} if it has
	 */
	boolean isFailing() {
		return this.failures > 0;
	}

	/**
	 * Take every call that was begun for one that was not answered: nobody knows what
	 * became of it.
	 */
	void forget() {
		this.core.unanswered();
	}

	/**
	 * What is to be done one after the other.
	 */
	record Turn(List<StoreCall> calls, boolean heartbeat) {
	}

}
