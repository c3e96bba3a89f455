package io.github.fencedleadership.sample.launcher;

import java.io.IOException;
import java.time.Duration;

import io.github.fencedleadership.sample.SampleApplication;

/**
 * A node of the sample that does not outlive its launcher.
 */
final class NodeProcess {

	/**
	 * How long the application may take to close when the launcher is gone.
	 */
	static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(20);

	private NodeProcess() {
	}

	/**
	 * Start the node.
	 * @param arguments the arguments of the application
	 */
	public static void main(String[] arguments) {
		exitWithLauncher();
		SampleApplication.main(arguments);
	}

	/**
	 * End this process, through its shutdown hooks, when the standard input ends: the
	 * launcher holds the other end and never closes it while it lives.
	 */
	static void exitWithLauncher() {
		startDaemon("launcher-watch", () -> {
			awaitEndOfInput();
			startDaemon("launcher-watch-halt", NodeProcess::haltAfterTimeout);
			System.exit(1);
		});
	}

	private static void startDaemon(String name, Runnable action) {
		Thread thread = new Thread(action, name);
		thread.setDaemon(true);
		thread.start();
	}

	private static void awaitEndOfInput() {
		try {
			while (System.in.read() != -1) {
				// The launcher has nothing to say to a node.
			}
		}
		catch (IOException ex) {
			// As good as its end.
		}
	}

	private static void haltAfterTimeout() {
		try {
			Thread.sleep(CLOSE_TIMEOUT.toMillis());
		}
		catch (InterruptedException ex) {
			// Nobody interrupts this thread but to have it over with.
		}
		Runtime.getRuntime().halt(1);
	}

}
