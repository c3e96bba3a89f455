package io.github.fencedleadership.sample.launcher;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

/**
 * A Java process with this one's Java and class path. Its standard input stays open for
 * as long as this process lives, so that its end tells the child of ours, however we die.
 */
final class ChildProcess {

	private final String name;

	private final Process process;

	private final OutputStream input;

	private ChildProcess(String name, Process process) {
		this.name = name;
		this.process = process;
		this.input = process.getOutputStream();
	}

	/**
	 * Start a process.
	 * @param name the name of the process, for people to read
	 * @param mainClass the class to run
	 * @param jvmArguments the arguments for the JVM
	 * @param arguments the arguments for the class
	 * @param output is given every line that the process writes
	 * @return the process
	 * @throws IOException if it cannot be started
	 */
	static ChildProcess start(String name, Class<?> mainClass, List<String> jvmArguments, List<String> arguments,
			Consumer<String> output) throws IOException {
		List<String> command = new ArrayList<>();
		command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
		command.addAll(jvmArguments);
		command.add(mainClass.getName());
		command.addAll(arguments);
		ProcessBuilder builder = new ProcessBuilder(command);
		// Not on the command line, so that "ps" shows one that people can read.
		builder.environment().put("CLASSPATH", absoluteClassPath());
		builder.redirectErrorStream(true);
		Process process = builder.start();
		Thread pump = new Thread(() -> pump(process, output), name + "-output");
		pump.setDaemon(true);
		pump.start();
		return new ChildProcess(name, process);
	}

	private static String absoluteClassPath() {
		List<String> entries = new ArrayList<>();
		for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
			entries.add(Path.of(entry).toAbsolutePath().toString());
		}
		return String.join(File.pathSeparator, entries);
	}

	private static void pump(Process process, Consumer<String> output) {
		try (BufferedReader reader = process.inputReader(StandardCharsets.UTF_8)) {
			for (String line = reader.readLine(); line != null; line = reader.readLine()) {
				output.accept(line);
			}
		}
		catch (IOException ex) {
			// The process has ended, which onExit tells.
		}
	}

	String name() {
		return this.name;
	}

	long pid() {
		return this.process.pid();
	}

	boolean isAlive() {
		return this.process.isAlive();
	}

	/**
	 * Do something when the process has ended.
	 * @param action is given the exit code
	 */
	void onExit(IntConsumer action) {
		CompletableFuture<?> unused = this.process.onExit().thenAccept((process) -> action.accept(process.exitValue()));
	}

	/**
	 * Write a line to the standard input of the process, which may have ended.
	 * @param line the line
	 */
	void send(String line) {
		try {
			this.input.write((line + "\n").getBytes(StandardCharsets.UTF_8));
			this.input.flush();
		}
		catch (IOException ex) {
			// The process has ended, which onExit tells.
		}
	}

	/**
	 * Close the standard input of the process.
	 */
	void closeInput() {
		try {
			this.input.close();
		}
		catch (IOException ex) {
			// The process has ended, which onExit tells.
		}
	}

	/**
	 * Ask the process to end, as {@code kill} does. Also wakes it up if it was stopped:
	 * the signal would only be delivered then.
	 */
	void terminate() {
		this.process.destroy();
		signal("CONT");
	}

	/**
	 * Send the process a signal. Does nothing if it has ended, or where there is no
	 * {@code kill} command.
	 * @param signal the name of the signal
	 */
	void signal(String signal) {
		if (!isAlive()) {
			return;
		}
		try {
			new ProcessBuilder("kill", "-" + signal, Long.toString(pid())).redirectErrorStream(true)
				.redirectOutput(ProcessBuilder.Redirect.DISCARD)
				.start()
				.waitFor(5, TimeUnit.SECONDS);
		}
		catch (IOException ex) {
			// Not a POSIX system: there, no process is stopped by a signal either.
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Return whether the process is stopped, whoever sent it the signal.
	 * @return {@code true} if it is, {@code false} also where that cannot be told
	 */
	boolean isStopped() {
		return isAlive() && state().startsWith("T");
	}

	/**
	 * Return the state of the process in the one letter that {@code ps} has for it, and
	 * what may follow.
	 */
	private String state() {
		try {
			Path stat = Path.of("/proc", Long.toString(pid()), "stat");
			if (Files.exists(stat)) {
				String content = Files.readString(stat, StandardCharsets.ISO_8859_1);
				// The name of the program is in front of it, in parentheses
				return content.substring(content.lastIndexOf(')') + 1).trim();
			}
			Process ps = new ProcessBuilder("ps", "-o", "state=", "-p", Long.toString(pid())).start();
			try (BufferedReader reader = ps.inputReader()) {
				String line = reader.readLine();
				return (line != null) ? line.trim() : "";
			}
		}
		catch (IOException ex) {
			return "";
		}
	}

	/**
	 * End the process, as {@code kill -9} does.
	 */
	void kill() {
		this.process.destroyForcibly();
	}

	/**
	 * Wait for the process to end.
	 * @param timeout for how long to wait at most
	 * @return whether it has ended
	 */
	boolean awaitExit(Duration timeout) {
		try {
			return this.process.waitFor(Math.max(0, timeout.toMillis()), TimeUnit.MILLISECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return !isAlive();
		}
	}

}
