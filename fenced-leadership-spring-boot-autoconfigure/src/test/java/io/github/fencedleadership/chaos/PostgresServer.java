package io.github.fencedleadership.chaos;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.awaitility.Awaitility;

import org.springframework.util.FileSystemUtils;

import io.github.fencedleadership.jdbc.TestDatabase;
import io.github.fencedleadership.jdbc.TestSchema;

/**
 * PostgreSQL from its embedded binaries. What is acknowledged has reached the operating
 * system, and so survives the end of the server's process, which is the worst that is
 * done to it.
 */
final class PostgresServer implements DatabaseServer {

	private static final Duration TIMEOUT = Duration.ofMinutes(1);

	private static final String USER = "postgres";

	private final Path directory;

	private final int port;

	private EmbeddedPostgres process;

	private TestSchema schema;

	private PostgresServer(Path directory, int port) throws IOException {
		this.directory = directory;
		this.port = port;
		start();
	}

	static PostgresServer start(int port) throws IOException {
		PostgresServer server = new PostgresServer(newDirectory(), port);
		try {
			server.schema.withTables();
			return server;
		}
		catch (RuntimeException ex) {
			server.close();
			throw ex;
		}
	}

	private static Path newDirectory() throws IOException {
		return Files.createTempDirectory("fenced-leadership-chaos-postgresql");
	}

	int port() {
		return this.port;
	}

	private void start() throws IOException {
		this.process = EmbeddedPostgres.builder()
			.setDataDirectory(this.directory)
			.setCleanDataDirectory(false)
			.setPort(this.port)
			.setPGStartupWait(TIMEOUT)
			.setServerConfig("fsync", "off")
			.setServerConfig("synchronous_commit", "on")
			.setServerConfig("max_connections", "100")
			.setServerConfig("wal_level", "replica")
			.setServerConfig("wal_keep_size", "256MB")
			.setServerConfig("wal_receiver_status_interval", "100ms")
			.setServerConfig("max_wal_senders", "4")
			.start();
		this.schema = new TestSchema(TestDatabase.POSTGRESQL, "public", this.process.getJdbcUrl(USER, "postgres"), USER,
				"");
	}

	@Override
	public TestSchema schema() {
		return this.schema;
	}

	@Override
	public void restart() throws IOException {
		this.process.close();
		start();
	}

	@Override
	public void crash() throws IOException {
		kill();
		start();
	}

	/**
	 * Kill the server. Its children notice by themselves, and have to be gone before
	 * another one starts.
	 * @throws IOException if what is left of it cannot be tidied up
	 */
	void kill() throws IOException {
		long pid = Long.parseLong(Files.readAllLines(this.directory.resolve("postmaster.pid")).get(0).trim());
		ProcessHandle postmaster = ProcessHandle.of(pid).orElseThrow();
		List<ProcessHandle> children = postmaster.descendants().toList();
		postmaster.destroyForcibly();
		Awaitility.await()
			.atMost(TIMEOUT)
			.until(() -> !postmaster.isAlive() && children.stream().noneMatch(ProcessHandle::isAlive));
		this.process.close();
	}

	/**
	 * For all sessions that there are or will be, as on a server that lost its primary.
	 */
	@Override
	public void setReadOnly(boolean readOnly) {
		configure("default_transaction_read_only", readOnly ? "on" : "off");
	}

	private void configure(String name, String value) {
		this.schema.execute("ALTER SYSTEM SET %s = '%s'".formatted(name, value));
		this.schema.execute("SELECT pg_reload_conf()");
	}

	// Replication

	/**
	 * Start a replica from a copy of this server, which goes on meanwhile.
	 * @param port the port of the replica
	 * @param upstreamPort the port that it is to reach this server at
	 * @return the replica, which can be read
	 * @throws Exception if it cannot be made
	 */
	PostgresServer startReplica(int port, int upstreamPort) throws Exception {
		Path copy = newDirectory();
		try (Connection connection = DriverManager.getConnection(this.schema.url(), USER, "");
				Statement statement = connection.createStatement()) {
			statement.execute("SELECT pg_backup_start('replica', true)");
			copy(this.directory, copy);
			try (ResultSet row = statement.executeQuery("SELECT labelfile FROM pg_backup_stop(false)")) {
				row.next();
				Files.writeString(copy.resolve("backup_label"), row.getString(1));
			}
		}
		Files.createFile(copy.resolve("standby.signal"));
		Files.writeString(copy.resolve("postgresql.auto.conf"),
				"primary_conninfo = 'host=127.0.0.1 port=%d user=%s application_name=replica'%n".formatted(upstreamPort,
						USER),
				StandardOpenOption.TRUNCATE_EXISTING);
		return new PostgresServer(copy, port);
	}

	/**
	 * Copy what belongs to a backup. Files may come and go, which the log makes up for.
	 */
	private static void copy(Path from, Path to) throws IOException {
		Files.walkFileTree(from, new SimpleFileVisitor<>() {

			@Override
			public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes)
					throws IOException {
				Path copy = to.resolve(from.relativize(directory).toString());
				if (!directory.equals(from)) {
					Files.copy(directory, copy, StandardCopyOption.COPY_ATTRIBUTES);
				}
				return FileVisitResult.CONTINUE;
			}

			@Override
			public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
				boolean log = file.startsWith(from.resolve("pg_wal"));
				String name = file.getFileName().toString();
				if (!log && !name.startsWith("postmaster.") && !name.startsWith("epg-lock")) {
					Files.copy(file, to.resolve(from.relativize(file).toString()), StandardCopyOption.COPY_ATTRIBUTES);
				}
				return FileVisitResult.CONTINUE;
			}

			@Override
			public FileVisitResult visitFileFailed(Path file, IOException failure) {
				return FileVisitResult.CONTINUE;
			}

		});
	}

	/**
	 * Acknowledge a commit only when the replica has it too, and wait until that is so.
	 */
	void replicateSynchronously() {
		configure("synchronous_standby_names", "replica");
		Awaitility.await()
			.atMost(TIMEOUT)
			.until(() -> this.schema
				.queryForLong("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") > 0);
	}

	/**
	 * Wait until a replica has connected itself.
	 */
	void awaitReplica() {
		Awaitility.await()
			.atMost(TIMEOUT)
			.until(() -> this.schema
				.queryForLong("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") > 0);
	}

	/**
	 * Make this replica a server that can be written to.
	 */
	void promote() {
		this.schema.execute("SELECT pg_promote()");
		Awaitility.await()
			.atMost(TIMEOUT)
			.until(() -> this.schema.queryForLong("SELECT pg_is_in_recovery()::int") == 0);
	}

	@Override
	public void close() throws IOException {
		this.process.close();
		FileSystemUtils.deleteRecursively(this.directory);
	}

}
