package io.github.fencedleadership.sample.launcher;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

/**
 * A PostgreSQL and nodes that use it, each a process. Ends what it started when it is
 * closed; and when this process is killed, what it started ends itself.
 * <p>
 * Thread-safe: may be closed while it is being started.
 */
final class Cluster implements AutoCloseable {

	private static final Duration DATABASE_START_TIMEOUT = Duration.ofMinutes(2);

	private static final Duration NODE_STOP_TIMEOUT = NodeProcess.CLOSE_TIMEOUT;

	private static final Duration DATABASE_STOP_TIMEOUT = Duration.ofSeconds(15);

	/**
	 * Several JVMs on one machine: what starts fast and is small.
	 */
	private static final List<String> JVM_ARGUMENTS = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
			"-Xmx256m");

	private final Class<?> nodeClass;

	private final Consumer<String> output;

	private final List<ChildProcess> nodes = new ArrayList<>();

	private @Nullable PostgresDirectory directory;

	private @Nullable ChildProcess database;

	private @Nullable String jdbcUrl;

	private boolean closed;

	/**
	 * Create a cluster of which nothing is started yet.
	 * @param nodeClass what to run as a node; has to end with the standard input
	 * @param output is given every line that a process writes, with its name in front
	 */
	Cluster(Class<?> nodeClass, Consumer<String> output) {
		this.nodeClass = nodeClass;
		this.output = output;
	}

	/**
	 * Start the database.
	 * @return its process
	 * @throws IOException if it does not start
	 * @throws InterruptedException if the calling thread was interrupted
	 */
	ChildProcess startDatabase() throws IOException, InterruptedException {
		CompletableFuture<Integer> port = new CompletableFuture<>();
		ChildProcess database;
		synchronized (this) {
			requireOpen();
			this.directory = PostgresDirectory.create();
			database = ChildProcess.start("postgres", PostgresProcess.class, databaseJvmArguments(),
					List.of(this.directory.path().toString()), (line) -> {
						if (line.startsWith(PostgresProcess.READY)) {
							port.complete(Integer.valueOf(line.substring(PostgresProcess.READY.length())));
						}
						else {
							this.output.accept("[postgres] " + line);
						}
					});
			this.database = database;
		}
		database.onExit((exitCode) -> port.completeExceptionally(new IOException(
				"PostgreSQL did not start: its process ended with exit code '%d', see above for the reason"
					.formatted(exitCode))));
		String url = "jdbc:postgresql://localhost:%d/postgres".formatted(await(port));
		synchronized (this) {
			this.jdbcUrl = url;
		}
		return database;
	}

	private static List<String> databaseJvmArguments() {
		List<String> arguments = new ArrayList<>(JVM_ARGUMENTS);
		// Its log is of no interest here, and without Spring Boot it would be at DEBUG.
		arguments.add("-Dlogback.configurationFile=" + PostgresProcess.class.getPackageName().replace('.', '/')
				+ "/logback-postgres.xml");
		return arguments;
	}

	private static int await(CompletableFuture<Integer> port) throws IOException, InterruptedException {
		try {
			return port.get(DATABASE_START_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
		}
		catch (ExecutionException ex) {
			throw (ex.getCause() instanceof IOException cause) ? cause : new IOException(ex.getCause());
		}
		catch (TimeoutException ex) {
			throw new IOException("PostgreSQL did not start within '%s'".formatted(DATABASE_START_TIMEOUT), ex);
		}
	}

	/**
	 * Return where the database is.
	 * @return its JDBC URL, for the user {@code postgres} without a password
	 */
	synchronized String jdbcUrl() {
		if (this.jdbcUrl == null) {
			throw new IllegalStateException("The database has not been started");
		}
		return this.jdbcUrl;
	}

	/**
	 * Start a node. Does not wait until it is ready.
	 * @param name the name of the node
	 * @param port the port it listens at
	 * @param arguments more arguments
	 * @return its process
	 * @throws IOException if it cannot be started
	 */
	synchronized ChildProcess startNode(String name, int port, List<String> arguments) throws IOException {
		requireOpen();
		List<String> all = new ArrayList<>();
		all.add("--server.port=" + port);
		all.add("--fenced-leadership.owner-id=" + name);
		all.add("--spring.datasource.url=" + jdbcUrl());
		all.add("--spring.datasource.username=postgres");
		all.add("--spring.datasource.password=");
		all.add("--spring.main.banner-mode=off");
		all.add("--management.endpoint.leadership.access=unrestricted");
		all.add("--logging.pattern.console=%d{HH:mm:ss.SSS} %-5p %-22.22logger{0} %m%n%wEx");
		all.addAll(arguments);
		ChildProcess node = ChildProcess.start(name, this.nodeClass, JVM_ARGUMENTS, all,
				(line) -> this.output.accept("[" + name + "] " + line));
		this.nodes.add(node);
		if (this.database != null) {
			this.database.send(PostgresProcess.NODE + node.pid());
		}
		return node;
	}

	private void requireOpen() throws IOException {
		if (this.closed) {
			throw new IOException("The cluster is stopping");
		}
	}

	/**
	 * Stop the nodes, then the database, gracefully if they can and in any case. Returns
	 * when all of them have ended. Idempotent.
	 */
	@Override
	public synchronized void close() {
		this.closed = true;
		this.nodes.forEach(ChildProcess::terminate);
		long deadline = System.nanoTime() + NODE_STOP_TIMEOUT.toNanos();
		for (ChildProcess node : this.nodes) {
			end(node, Duration.ofNanos(deadline - System.nanoTime()));
		}
		if (this.database != null) {
			this.database.closeInput();
			end(this.database, DATABASE_STOP_TIMEOUT);
		}
		if (this.directory != null) {
			this.directory.dispose();
		}
	}

	private void end(ChildProcess process, Duration timeout) {
		if (!process.awaitExit(timeout)) {
			this.output.accept("'%s' (pid %d) does not end: killed".formatted(process.name(), process.pid()));
			process.kill();
			process.awaitExit(Duration.ofSeconds(10));
		}
	}

}
