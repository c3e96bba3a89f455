package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.fencing.FencingToken;

/**
 * One thread's work in a term, and the {@link Leadership} that the work sees.
 */
final class ActiveWork implements Leadership {

	private final Term term;

	private final ElectionCore.Interest interest;

	private volatile @Nullable Thread thread;

	private volatile long lastProgress;

	private volatile boolean waiting;

	private volatile boolean toldToEnd;

	private boolean done;

	ActiveWork(Term term, ElectionCore.Interest interest) {
		this.term = term;
		this.interest = interest;
		this.lastProgress = term.clock().nanos();
	}

	Term term() {
		return this.term;
	}

	ElectionCore.Interest interest() {
		return this.interest;
	}

	LeaderTask task() {
		return this.interest.task();
	}

	/**
	 * The calling thread begins with the work.
	 * @return {@code false} if it was told to end before it began
	 */
	synchronized boolean begin() {
		this.thread = Thread.currentThread();
		this.lastProgress = this.term.clock().nanos();
		return !this.toldToEnd;
	}

	/**
	 * Tell the work to end.
	 */
	synchronized void interrupt() {
		Thread thread = this.thread;
		if (this.done || this.toldToEnd) {
			return;
		}
		this.toldToEnd = true;
		if (thread != null) {
			thread.interrupt();
		}
	}

	/**
	 * The calling thread is done. After this it is never interrupted on behalf of the
	 * work, and carries no interrupt that was sent for it.
	 */
	synchronized void finish() {
		this.done = true;
		if (this.toldToEnd && this.thread == Thread.currentThread()) {
			Thread.interrupted();
		}
	}

	@Nullable Thread thread() {
		return this.thread;
	}

	/**
	 * Return since when the work has shown no progress.
	 * @return the instant by the monotonic clock, {@link RoleState#NEVER} if it has not
	 * begun or waits
	 */
	long silentSince() {
		return (this.thread == null || this.waiting) ? RoleState.NEVER : this.lastProgress;
	}

	@Override
	public String role() {
		return this.term.token().role();
	}

	@Override
	public FencingToken fencingToken() {
		return this.term.token();
	}

	@Override
	public boolean isHeld() {
		progressOfOwnThread();
		return !this.toldToEnd && this.term.isHeld();
	}

	@Override
	public Duration remaining() {
		return this.toldToEnd ? Duration.ZERO : Duration.ofNanos(this.term.remainingNanos());
	}

	@Override
	public void requireHeld() {
		if (!isHeld()) {
			throw new LeadershipLostException(this.term.token());
		}
	}

	@Override
	public void progress() {
		this.lastProgress = this.term.clock().nanos();
	}

	@Override
	public boolean await(Duration timeout) throws InterruptedException {
		Objects.requireNonNull(timeout, "'timeout' must not be null");
		if (Thread.currentThread() != this.thread) {
			return this.term.await(timeout) && !this.toldToEnd;
		}
		this.waiting = true;
		try {
			return !this.toldToEnd && this.term.await(timeout) && !this.toldToEnd;
		}
		catch (InterruptedException ex) {
			if (!this.toldToEnd) {
				throw ex;
			}
			Thread.currentThread().interrupt();
			return false;
		}
		finally {
			progress();
			this.waiting = false;
		}
	}

	private void progressOfOwnThread() {
		// A thread that only watches must not make stuck work look alive.
		if (Thread.currentThread() == this.thread) {
			progress();
		}
	}

	@Override
	public String toString() {
		return "Leadership[" + this.term.token() + "]";
	}

}
