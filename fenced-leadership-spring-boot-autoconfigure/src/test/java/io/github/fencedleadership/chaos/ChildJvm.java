package io.github.fencedleadership.chaos;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A process that runs a class of the tests, with this one's Java and class path. Its
 * standard input stays open for as long as this process lives, so that its end tells the
 * child of ours, however we die.
 */
public final class ChildJvm implements AutoCloseable {

	private static final Duration EXIT_TIMEOUT = Duration.ofSeconds(60);

	private static final Duration DUMP_TIME = Duration.ofSeconds(2);

	private final Process process;

	private final OutputStream input;

	private final Thread reader;

	private ChildJvm(Process process, Consumer<String> output) {
		this.process = process;
		this.input = process.getOutputStream();
		this.reader = new Thread(() -> read(process, output), "output-of-" + process.pid());
		this.reader.setDaemon(true);
		this.reader.start();
	}

	/**
	 * Start a process.
	 * @param mainClass the class to run
	 * @param output is given every line that the process writes
	 * @param arguments the arguments of the class
	 * @return the process, which has to be closed
	 */
	public static ChildJvm start(Class<?> mainClass, Consumer<String> output, String... arguments) {
		List<String> command = new ArrayList<>(
				List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx64m",
						"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", mainClass.getName()));
		command.addAll(List.of(arguments));
		ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
		builder.environment()
			.put("CLASSPATH", System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
		try {
			return new ChildJvm(builder.start(), output);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static void read(Process process, Consumer<String> output) {
		try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
			for (String line = lines.readLine(); line != null; line = lines.readLine()) {
				output.accept(line);
			}
		}
		catch (IOException ex) {
			// The process was killed.
		}
	}

	/**
	 * Write a line to the standard input of the process. Does nothing if it has ended.
	 * @param line the line
	 */
	public void send(String line) {
		try {
			this.input.write((line + "\n").getBytes(StandardCharsets.UTF_8));
			this.input.flush();
		}
		catch (IOException ex) {
			// The process has ended.
		}
	}

	/**
	 * Close the standard input of the process, as happens when this process ends.
	 */
	public void closeInput() {
		try {
			this.input.close();
		}
		catch (IOException ex) {
			// The process has ended.
		}
	}

	/**
	 * Send the process a signal. Does nothing if it has ended.
	 * @param name the name of the signal
	 */
	public void signal(String name) {
		if (!isAlive()) {
			return;
		}
		try {
			new ProcessBuilder("kill", "-" + name, Long.toString(this.process.pid()))
				.redirectError(ProcessBuilder.Redirect.DISCARD)
				.start()
				.waitFor();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Have the process write what its threads do, for a failure to be understood.
	 */
	public void dumpThreads() {
		signal("QUIT");
		try {
			this.reader.join(DUMP_TIME.toMillis());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	public boolean isAlive() {
		return this.process.isAlive();
	}

	/**
	 * Wait for the process to end, and for the last of its output.
	 * @return whether it has ended
	 */
	public boolean awaitExit() {
		try {
			boolean ended = this.process.waitFor(EXIT_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
			if (ended) {
				this.reader.join(EXIT_TIMEOUT.toMillis());
			}
			return ended;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return false;
		}
	}

	/**
	 * Kill the process, as {@code kill -9} does.
	 */
	@Override
	public void close() {
		this.process.destroyForcibly();
		awaitExit();
	}

}
