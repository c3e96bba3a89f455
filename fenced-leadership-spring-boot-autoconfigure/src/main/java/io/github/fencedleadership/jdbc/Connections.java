package io.github.fencedleadership.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Gets at most two connections at a time out of a DataSource, each within a bound.
 * <p>
 * A pool may make its caller wait for far longer than a lease lasts, and cannot be told
 * otherwise per call. So it is asked on a helper thread, which is abandoned when the
 * bound is reached. A connection that arrives late is given back unused. The helper
 * thread also carries none of the caller's transactions, whatever the DataSource does
 * with threads. Only one that leads to different databases depending on the thread is
 * asked on that of the caller.
 */
class Connections implements AutoCloseable {

	static final int MAX_CONNECTIONS = 2;

	private static final Log logger = LogFactory.getLog(Connections.class);

	private static final AtomicInteger threadNumber = new AtomicInteger();

	private final DataSource dataSource;

	private final Semaphore permits = new Semaphore(MAX_CONNECTIONS, true);

	private final ExecutorService executor = Executors.newCachedThreadPool((task) -> {
		Thread thread = new Thread(task, "fenced-leadership-connection-" + threadNumber.incrementAndGet());
		thread.setDaemon(true);
		return thread;
	});

	private final boolean onCallersThread;

	Connections(DataSource dataSource, boolean onCallersThread) {
		this.dataSource = dataSource;
		this.onCallersThread = onCallersThread;
	}

	/**
	 * Return a connection that has to be given back by {@link #giveBack}.
	 * @param timeout the bound
	 * @return the connection
	 * @throws SQLException if there is none within the bound
	 */
	Connection get(Duration timeout) throws SQLException {
		long deadline = System.nanoTime() + timeout.toNanos();
		try {
			if (!this.permits.tryAcquire(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
				throw new SQLTransientConnectionException(
						"Both connections of the store were still in use after '%s'".formatted(timeout), "08001");
			}
			CompletableFuture<Connection> result = new CompletableFuture<>();
			try {
				(this.onCallersThread ? (Executor) Runnable::run : this.executor).execute(() -> connect(result));
			}
			catch (RuntimeException | Error ex) {
				this.permits.release();
				throw ex;
			}
			return await(result, deadline, timeout);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new SQLTransientConnectionException("Interrupted while waiting for a connection", "08001", ex);
		}
	}

	private Connection await(CompletableFuture<Connection> result, long deadline, Duration timeout)
			throws SQLException, InterruptedException {
		try {
			return result.get(Math.max(deadline - System.nanoTime(), 0), TimeUnit.NANOSECONDS);
		}
		catch (TimeoutException | InterruptedException ex) {
			// Whoever completes the result first decides who owns the connection
			if (!result.completeExceptionally(ex) && !result.isCompletedExceptionally()) {
				giveBack(result.join());
			}
			if (ex instanceof InterruptedException interrupted) {
				throw interrupted;
			}
			throw new SQLTransientConnectionException(
					"The DataSource gave no connection within '%s'".formatted(timeout), "08001");
		}
		catch (ExecutionException ex) {
			if (ex.getCause() instanceof SQLException cause) {
				throw cause;
			}
			throw new SQLException("The DataSource failed to give a connection", "08001", ex.getCause());
		}
	}

	private void connect(CompletableFuture<Connection> result) {
		Connection connection;
		try {
			connection = this.dataSource.getConnection();
		}
		catch (Throwable ex) {
			this.permits.release();
			result.completeExceptionally(ex);
			return;
		}
		if (!result.complete(connection)) {
			logger.debug("A connection came too late and is given back unused");
			giveBack(connection);
		}
	}

	void giveBack(Connection connection) {
		try {
			connection.close();
		}
		catch (SQLException | RuntimeException ex) {
			logger.debug("A connection could not be closed", ex);
		}
		finally {
			this.permits.release();
		}
	}

	@Override
	public void close() {
		this.executor.shutdown();
	}

}
