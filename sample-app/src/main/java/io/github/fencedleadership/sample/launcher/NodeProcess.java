package io.github.fencedleadership.sample.launcher;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.Consumer;

import org.springframework.boot.SpringApplication;
import org.springframework.context.support.GenericApplicationContext;

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
		Wedge wedge = new Wedge();
		exitWithLauncher(wedge::accept);
		SpringApplication application = new SpringApplication(SampleApplication.class);
		application.setMainApplicationClass(SampleApplication.class);
		application.addInitializers((context) -> {
			if (context instanceof GenericApplicationContext genericContext) {
				genericContext.registerBean("wedge", Wedge.class, () -> wedge);
			}
		});
		application.run(arguments);
	}

	/**
	 * End this process, through its shutdown hooks, when the standard input ends: the
	 * launcher holds the other end and never closes it while it lives.
	 * @param lines is given every line that the launcher sends
	 */
	static void exitWithLauncher(Consumer<String> lines) {
		startDaemon("launcher-watch", () -> {
			readInput(lines);
			startDaemon("launcher-watch-halt", NodeProcess::haltAfterTimeout);
			System.exit(1);
		});
	}

	private static void startDaemon(String name, Runnable action) {
		Thread thread = new Thread(action, name);
		thread.setDaemon(true);
		thread.start();
	}

	private static void readInput(Consumer<String> lines) {
		try {
			BufferedReader reader = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
			for (String line = reader.readLine(); line != null; line = reader.readLine()) {
				lines.accept(line);
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
