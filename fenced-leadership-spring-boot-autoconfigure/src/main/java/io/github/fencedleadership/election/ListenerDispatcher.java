package io.github.fencedleadership.election;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.fencing.FencingToken;

/**
 * Calls listeners one at a time and in order, on a thread of its own that exists only
 * while there is something to tell.
 */
final class ListenerDispatcher {

	private static final Log logger = LogFactory.getLog(ListenerDispatcher.class);

	private static final long IDLE_SECONDS = 10;

	private final List<LeadershipListener> listeners;

	private final Queue<Consumer<LeadershipListener>> events = new ConcurrentLinkedQueue<>();

	private final ThreadPoolExecutor executor;

	private volatile @Nullable Thread teller;

	ListenerDispatcher(List<LeadershipListener> listeners) {
		this(listeners, (task) -> {
			Thread thread = new Thread(task, "fenced-leadership-listeners");
			thread.setDaemon(true);
			return thread;
		});
	}

	ListenerDispatcher(List<LeadershipListener> listeners, ThreadFactory threads) {
		this.listeners = List.copyOf(listeners);
		this.executor = new ThreadPoolExecutor(1, 1, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
				threads);
		this.executor.allowCoreThreadTimeOut(true);
	}

	void granted(FencingToken token) {
		tell((listener) -> listener.granted(token));
	}

	void revoked(FencingToken token, RevocationReason reason) {
		tell((listener) -> listener.revoked(token, reason));
	}

	/**
	 * Wait until all that there is to tell by now has been told. Called by a listener,
	 * which it would have to wait for, it returns at once.
	 * @param nanos for how long to wait at most
	 * @return whether it has been told
	 * @throws InterruptedException if interrupted while waiting
	 */
	boolean awaitTold(long nanos) throws InterruptedException {
		if (this.listeners.isEmpty() || Thread.currentThread() == this.teller) {
			return true;
		}
		CountDownLatch told = new CountDownLatch(1);
		try {
			this.executor.execute(told::countDown);
		}
		catch (Throwable ex) {
			// There is no thread to tell with.
			return this.events.isEmpty();
		}
		return told.await(nanos, TimeUnit.NANOSECONDS);
	}

	/**
	 * Tell what is still to be told, and nothing afterwards.
	 */
	void close() {
		this.executor.shutdown();
	}

	private void tell(Consumer<LeadershipListener> event) {
		if (this.listeners.isEmpty()) {
			return;
		}
		this.events.add(event);
		try {
			this.executor.execute(this::tellAll);
		}
		catch (Throwable ex) {
			// The elector must not suffer from it; what is left is told with what
			// follows.
			logger.error("No thread to call listeners of leadership; they will be called later", ex);
		}
	}

	private void tellAll() {
		this.teller = Thread.currentThread();
		for (Consumer<LeadershipListener> event = this.events.poll(); event != null; event = this.events.poll()) {
			for (LeadershipListener listener : this.listeners) {
				tell(listener, event);
			}
		}
	}

	private static void tell(LeadershipListener listener, Consumer<LeadershipListener> event) {
		try {
			event.accept(listener);
		}
		catch (Throwable ex) {
			logger.warn("Listener '%s' failed".formatted(listener.getClass().getName()), ex);
		}
	}

}
