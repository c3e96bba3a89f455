package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

import io.github.fencedleadership.fencing.FencingToken;

/**
 * One term of a role on this node: what is believed of its lease, and the work that is
 * done in it.
 * <p>
 * Belief needs no lock, and once it has ended it does not come back: whoever first sees
 * the deadline passed makes that final, so that a renewal which is confirmed at the same
 * moment cannot turn {@code false} into {@code true} again.
 */
final class Term {

	private static final AtomicReferenceFieldUpdater<Term, Hold> HOLD = AtomicReferenceFieldUpdater
		.newUpdater(Term.class, Hold.class, "hold");

	private final FencingToken token;

	private final String ownerId;

	private final ElectionClock clock;

	private volatile Hold hold;

	private final CountDownLatch over = new CountDownLatch(1);

	/**
	 * The work in progress, guarded by the lock of the elector.
	 */
	private final List<ActiveWork> activeWork = new ArrayList<>();

	Term(FencingToken token, String ownerId, ElectionClock clock, long deadline, long wallDeadline) {
		this.token = token;
		this.ownerId = ownerId;
		this.clock = clock;
		this.hold = new Hold(deadline, wallDeadline);
	}

	FencingToken token() {
		return this.token;
	}

	String ownerId() {
		return this.ownerId;
	}

	ElectionClock clock() {
		return this.clock;
	}

	List<ActiveWork> activeWork() {
		return this.activeWork;
	}

	boolean isHeld() {
		while (true) {
			Hold current = this.hold;
			if (current.isOver()) {
				return false;
			}
			Hold seen = current.seenAt(this.clock);
			if (seen == current) {
				return true;
			}
			if (HOLD.compareAndSet(this, current, seen)) {
				return false;
			}
		}
	}

	long remainingNanos() {
		Hold current = this.hold;
		return isHeld() ? Math.max(0, current.deadline - this.clock.nanos()) : 0;
	}

	/**
	 * Move the deadline.
	 * @param deadline the new deadline by the monotonic clock
	 * @param wallDeadline the same by the wall clock
	 * @return {@code false} if the term was over before
	 */
	boolean extend(long deadline, long wallDeadline) {
		Hold extended = new Hold(deadline, wallDeadline);
		while (isHeld()) {
			Hold current = this.hold;
			if (!current.isOver() && HOLD.compareAndSet(this, current, extended)) {
				return true;
			}
		}
		return false;
	}

	/**
	 * Return whether belief ended because of the wall clock.
	 * @return {@code true} if it did
	 */
	boolean isClockJumped() {
		return this.hold == Hold.CLOCK_JUMPED;
	}

	/**
	 * End the term: from now on {@link #isHeld()} is {@code false}, and waiters wake up.
	 */
	void end() {
		Hold current = this.hold;
		while (!current.isOver() && !HOLD.compareAndSet(this, current, Hold.OVER)) {
			current = this.hold;
		}
		this.over.countDown();
	}

	/**
	 * Wait for the end of the term.
	 * @param timeout for how long at most
	 * @return whether the term is still held
	 */
	boolean await(Duration timeout) throws InterruptedException {
		long start = this.clock.nanos();
		long limit = saturatedNanos(timeout);
		try {
			while (isHeld()) {
				long left = limit - (this.clock.nanos() - start);
				if (left <= 0) {
					return isHeld();
				}
				// Not longer than is certain, so that no other thread has to work for
				// the wait to end.
				this.over.await(Math.max(1, Math.min(left, remainingNanos())), TimeUnit.NANOSECONDS);
			}
			return false;
		}
		catch (InterruptedException ex) {
			if (isHeld()) {
				throw ex;
			}
			Thread.currentThread().interrupt();
			return false;
		}
	}

	private static long saturatedNanos(Duration duration) {
		try {
			return duration.toNanos();
		}
		catch (ArithmeticException ex) {
			return duration.isNegative() ? Long.MIN_VALUE / 2 : Long.MAX_VALUE / 2;
		}
	}

	/**
	 * Until when the term is certainly held. Compared by identity.
	 */
	private static final class Hold {

		static final Hold OVER = new Hold(Long.MIN_VALUE, Long.MIN_VALUE);

		static final Hold DEADLINE_PASSED = new Hold(Long.MIN_VALUE, Long.MIN_VALUE);

		static final Hold CLOCK_JUMPED = new Hold(Long.MIN_VALUE, Long.MIN_VALUE);

		private final long deadline;

		private final long wallDeadline;

		Hold(long deadline, long wallDeadline) {
			this.deadline = deadline;
			this.wallDeadline = wallDeadline;
		}

		boolean isOver() {
			return this.deadline == Long.MIN_VALUE;
		}

		Hold seenAt(ElectionClock clock) {
			if (clock.nanos() >= this.deadline) {
				return DEADLINE_PASSED;
			}
			return (clock.wallMillis() >= this.wallDeadline) ? CLOCK_JUMPED : this;
		}

	}

}
