package io.github.fencedleadership.sample.launcher;

import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.function.IntConsumer;

import org.jspecify.annotations.Nullable;

/**
 * A node of the cluster, which may be started again after its process has ended.
 * <p>
 * Thread-safe.
 */
final class ClusterNode {

	private final Cluster cluster;

	private final String name;

	private final int port;

	private final List<String> arguments;

	private @Nullable ChildProcess process;

	private boolean wedged;

	private boolean killed;

	/**
	 * Create a node that is not started yet.
	 * @param cluster the cluster
	 * @param name the name of the node
	 * @param port the port it listens at
	 * @param arguments more arguments for its application
	 */
	ClusterNode(Cluster cluster, String name, int port, List<String> arguments) {
		this.cluster = cluster;
		this.name = name;
		this.port = port;
		this.arguments = List.copyOf(arguments);
	}

	String name() {
		return this.name;
	}

	int port() {
		return this.port;
	}

	URI uri(String path) {
		return URI.create("http://localhost:%d%s".formatted(this.port, path));
	}

	/**
	 * Start the node unless it is alive. Does not wait until it is ready.
	 * @param onExit is given the exit code when its process has ended
	 * @throws IOException if it cannot be started
	 */
	synchronized void start(IntConsumer onExit) throws IOException {
		if (isAlive()) {
			return;
		}
		ChildProcess process = this.cluster.startNode(this.name, this.port, this.arguments);
		this.process = process;
		this.wedged = false;
		this.killed = false;
		process.onExit(onExit);
	}

	/**
	 * Kill the process, and wait until it is gone.
	 */
	synchronized void kill() {
		if (this.process != null && this.process.isAlive()) {
			this.killed = true;
			this.process.kill();
			this.process.awaitExit(Duration.ofSeconds(5));
		}
	}

	synchronized void freeze() {
		if (this.process != null) {
			this.process.signal("STOP");
		}
	}

	synchronized void resume() {
		if (this.process != null) {
			this.process.signal("CONT");
		}
	}

	/**
	 * Let the job get stuck, or get on. The process is not affected by that.
	 * @param wedged whether it is to be stuck
	 */
	synchronized void wedge(boolean wedged) {
		if (this.process != null && this.process.isAlive()) {
			this.process.send(wedged ? Wedge.CLOSE : Wedge.OPEN);
			this.wedged = wedged;
		}
	}

	synchronized boolean isWedged() {
		return this.wedged && isAlive();
	}

	synchronized boolean isAlive() {
		return this.process != null && this.process.isAlive();
	}

	/**
	 * Return whether the process was ended by {@link #kill()}.
	 * @return {@code true} if it was
	 */
	synchronized boolean isKilled() {
		return this.killed;
	}

	synchronized boolean isFrozen() {
		return this.process != null && this.process.isStopped();
	}

	/**
	 * Return the id of the process.
	 * @return the id, also of one that has ended; 0 if there has been none
	 */
	synchronized long pid() {
		return (this.process != null) ? this.process.pid() : 0;
	}

}
