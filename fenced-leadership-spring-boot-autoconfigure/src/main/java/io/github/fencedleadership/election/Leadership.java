package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.Optional;

import io.github.fencedleadership.fencing.FencingToken;

/**
 * One term of a role, as seen by one piece of work that is done in it.
 * <p>
 * Belief is conservative: {@link #isHeld()} is computed, with no thread, database or
 * event having to work for it to turn {@code false}. The deadline is the instant of this
 * process's monotonic clock <em>before</em> the last confirmed request was sent, plus the
 * TTL of the lease, less the safety margin. Wall time that runs ahead of the monotonic
 * clock, as after a suspended machine wakes up, ends belief too; nothing grants or
 * extends it but an answer of the store. Once {@code false}, it stays {@code false} for
 * this term.
 * <p>
 * Non-guarantee: between a look at {@code isHeld()} and the effect of what follows, a
 * process can be paused for any time. Only a comparison of the {@link #fencingToken()
 * fencing token} where the effect happens closes that gap.
 * <p>
 * Thread-safe.
 */
public interface Leadership {

	/**
	 * Return the role that is led.
	 * @return the name of the role
	 */
	String role();

	/**
	 * Return the fencing token of the term.
	 * @return the token
	 */
	FencingToken fencingToken();

	/**
	 * Return whether the role is certainly held at this moment. Costs a few reads of a
	 * clock and allocates nothing. From the thread of the work, counts as
	 * {@link #progress()}. Also {@code false} for work whose registration was closed
	 * while other work keeps the role.
	 * @return {@code true} if no other node can hold the role now
	 */
	boolean isHeld();

	/**
	 * Return for how long the role is certainly held without another answer of the store.
	 * @return the time until the deadline, zero if no longer held
	 */
	Duration remaining();

	/**
	 * Throw unless the role {@link #isHeld() is held}.
	 * @throws LeadershipLostException if it is not
	 */
	void requireHeld() throws LeadershipLostException;

	/**
	 * Report that the work is getting on, from any thread. Work that runs and reports
	 * nothing for longer than its stall timeout loses its leadership.
	 */
	void progress();

	/**
	 * Wait, and wake up at once if the leadership ends. The wait itself is not a stall.
	 * @param timeout for how long to wait at most
	 * @return whether the role is still held; if it is not because of the end of the term
	 * the interrupt status of the thread may be set
	 * @throws InterruptedException if the thread was interrupted while the role is held
	 */
	boolean await(Duration timeout) throws InterruptedException;

	/**
	 * Return the innermost leadership that the calling thread works under, held or not.
	 * @return the leadership, empty outside of leader work
	 */
	static Optional<Leadership> current() {
		return Optional.ofNullable(CurrentLeadership.get());
	}

	/**
	 * Return the leadership of a role that the calling thread works under, held or not.
	 * @param role the role
	 * @return the leadership, empty outside of work for that role
	 */
	static Optional<Leadership> current(String role) {
		return Optional.ofNullable(CurrentLeadership.get(role));
	}

}
