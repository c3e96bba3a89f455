package io.github.fencedleadership.sample.launcher;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.jspecify.annotations.Nullable;

/**
 * Runs PostgreSQL until its launcher is gone, and every node with it. In a process of its
 * own, for a launcher that is killed can stop nothing; and deaf to Ctrl-C and
 * {@code kill}, for nodes that are closing still need their database.
 */
final class PostgresProcess {

	/**
	 * Begins the line that tells the port, once there is one.
	 */
	static final String READY = "ready ";

	/**
	 * Begins a line with the id of a process that needs the database.
	 */
	static final String NODE = "node ";

	/**
	 * How long a node may outlive the launcher. Only one that is frozen does, because the
	 * others end by themselves.
	 */
	private static final Duration NODE_TIMEOUT = NodeProcess.CLOSE_TIMEOUT.plusSeconds(5);

	private final PostgresDirectory directory;

	private final List<ProcessHandle> nodes = new CopyOnWriteArrayList<>();

	private final Thread starter = Thread.currentThread();

	private final CountDownLatch started = new CountDownLatch(1);

	private final CountDownLatch launcherGone = new CountDownLatch(1);

	private volatile @Nullable EmbeddedPostgres postgres;

	private PostgresProcess(PostgresDirectory directory) {
		this.directory = directory;
	}

	/**
	 * Start the server.
	 * @param arguments the path of its directory
	 * @throws IOException if it does not start
	 */
	public static void main(String[] arguments) throws IOException {
		PostgresProcess process = new PostgresProcess(new PostgresDirectory(Path.of(arguments[0])));
		Runtime.getRuntime().addShutdownHook(new Thread(process::stop, "postgres-stop"));
		Thread watch = new Thread(process::watchLauncher, "launcher-watch");
		watch.setDaemon(true);
		watch.start();
		process.start();
		process.awaitLauncherGone();
		System.exit(0);
	}

	private void start() throws IOException {
		try {
			// Its own shutdown hook would stop the server before the nodes.
			EmbeddedPostgres postgres = EmbeddedPostgres.builder()
				.setDataDirectory(this.directory.path())
				.setRegisterShutdownHook(false)
				.setPGStartupWait(Duration.ofMinutes(1))
				.start();
			this.postgres = postgres;
			System.out.println(READY + postgres.getPort());
		}
		finally {
			this.started.countDown();
		}
	}

	private void watchLauncher() {
		try (BufferedReader reader = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
			for (String line = reader.readLine(); line != null; line = reader.readLine()) {
				if (line.startsWith(NODE)) {
					ProcessHandle.of(Long.parseLong(line.substring(NODE.length()))).ifPresent(this.nodes::add);
				}
			}
		}
		catch (IOException ex) {
			// As good as its end.
		}
		finally {
			this.launcherGone.countDown();
		}
	}

	private void awaitLauncherGone() {
		try {
			this.launcherGone.await();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Stop the server when nobody needs it any more, whatever began the shutdown.
	 */
	private void stop() {
		try {
			this.launcherGone.await();
			if (this.started.getCount() > 0) {
				abandonStart();
				return;
			}
			awaitNodes();
			EmbeddedPostgres postgres = this.postgres;
			if (postgres != null) {
				postgres.close();
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (IOException ex) {
			// Is ended below.
		}
		finally {
			this.directory.dispose();
		}
	}

	private void abandonStart() throws InterruptedException {
		this.starter.interrupt();
		ProcessHandle.current().descendants().forEach(ProcessHandle::destroy);
		this.started.await(5, TimeUnit.SECONDS);
	}

	private void awaitNodes() throws InterruptedException {
		long deadline = System.nanoTime() + NODE_TIMEOUT.toNanos();
		for (ProcessHandle node : this.nodes) {
			while (node.isAlive() && System.nanoTime() < deadline) {
				Thread.sleep(100);
			}
			node.destroyForcibly();
		}
	}

}
