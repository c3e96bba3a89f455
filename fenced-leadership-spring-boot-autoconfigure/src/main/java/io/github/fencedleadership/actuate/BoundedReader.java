package io.github.fencedleadership.actuate;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Reads from a store without waiting for it longer than a bound, and without telling its
 * secrets: an error is given by its type, the rest is for the log.
 */
final class BoundedReader {

	/**
	 * Reads that hang are given up, but their threads may be stuck for long.
	 */
	private static final int MAX_THREADS = 4;

	private static final Log logger = LogFactory.getLog(BoundedReader.class);

	private final Duration bound;

	private final ThreadPoolExecutor executor;

	BoundedReader(String threadName, Duration bound) {
		this.bound = bound;
		this.executor = new ThreadPoolExecutor(0, MAX_THREADS, 10, TimeUnit.SECONDS, new SynchronousQueue<>(),
				daemonThreads(threadName));
	}

	private static ThreadFactory daemonThreads(String name) {
		AtomicInteger count = new AtomicInteger();
		return (runnable) -> {
			Thread thread = new Thread(runnable, name + "-" + count.incrementAndGet());
			thread.setDaemon(true);
			return thread;
		};
	}

	/**
	 * Read something.
	 * @param <T> the type of what is read
	 * @param what what is read, for messages
	 * @param read how to read it
	 * @return the value, or why there is none
	 */
	<T> Reading<T> read(String what, Supplier<T> read) {
		Future<T> future;
		try {
			future = this.executor.submit(read::get);
		}
		catch (RejectedExecutionException ex) {
			return Reading.failed("%s cannot be read: earlier reads have not returned yet".formatted(what));
		}
		try {
			return new Reading<>(future.get(this.bound.toMillis(), TimeUnit.MILLISECONDS), null);
		}
		catch (TimeoutException ex) {
			future.cancel(true);
			return Reading.failed("%s cannot be read: no answer within '%s'".formatted(what, this.bound));
		}
		catch (InterruptedException ex) {
			future.cancel(true);
			Thread.currentThread().interrupt();
			return Reading.failed("%s cannot be read: interrupted".formatted(what));
		}
		catch (ExecutionException ex) {
			Throwable cause = Objects.requireNonNullElse(ex.getCause(), ex);
			logger.debug("%s cannot be read".formatted(what), cause);
			return Reading.failed("%s cannot be read: %s".formatted(what, cause.getClass().getSimpleName()));
		}
	}

	/**
	 * What was read, or why there is nothing.
	 *
	 * @param <T> the type of what is read
	 * @param value the value, if any
	 * @param error the error, if any
	 */
	record Reading<T>(@Nullable T value, @Nullable String error) {

		static <T> Reading<T> failed(String error) {
			return new Reading<>(null, error);
		}

		T orElse(T other) {
			return (this.value != null) ? this.value : other;
		}

	}

}
