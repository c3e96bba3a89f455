package io.github.fencedleadership.sample.launcher;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.jspecify.annotations.Nullable;

/**
 * The temporary directory that a PostgreSQL server keeps its data in.
 *
 * @param path the path
 */
record PostgresDirectory(Path path) {

	static PostgresDirectory create() throws IOException {
		return new PostgresDirectory(Files.createTempDirectory("fenced-leadership-sample-postgres"));
	}

	/**
	 * Return the server.
	 * @return the process, empty if there is none
	 */
	Optional<ProcessHandle> server() {
		try {
			String pid = Files.readAllLines(this.path.resolve("postmaster.pid")).get(0);
			return ProcessHandle.of(Long.parseLong(pid.trim()));
		}
		catch (IOException | RuntimeException ex) {
			return Optional.empty();
		}
	}

	/**
	 * End the server if it is still there, and delete what it kept.
	 */
	void dispose() {
		server().ifPresent(PostgresDirectory::end);
		try {
			Files.walkFileTree(this.path, new Deletion());
		}
		catch (IOException ex) {
			// Temporary files: the system deletes them some day.
		}
	}

	private static void end(ProcessHandle server) {
		// Only if it is not killed does it return what it shares with its own children.
		server.destroy();
		if (!awaitExit(server)) {
			server.destroyForcibly();
			awaitExit(server);
		}
	}

	private static boolean awaitExit(ProcessHandle server) {
		try {
			server.onExit().get(5, TimeUnit.SECONDS);
			return true;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return false;
		}
		catch (ExecutionException | TimeoutException ex) {
			return false;
		}
	}

	private static final class Deletion extends SimpleFileVisitor<Path> {

		@Override
		public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
			Files.deleteIfExists(file);
			return FileVisitResult.CONTINUE;
		}

		@Override
		public FileVisitResult visitFileFailed(Path file, IOException failure) {
			return FileVisitResult.CONTINUE;
		}

		@Override
		public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException failure) throws IOException {
			Files.deleteIfExists(directory);
			return FileVisitResult.CONTINUE;
		}

	}

}
