package io.github.fencedleadership.jdbc;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;

import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.support.EncodedResource;
import org.springframework.jdbc.datasource.init.ScriptUtils;

/**
 * A schema for the tests of one class.
 */
public final class TestSchema implements AutoCloseable {

	private static final Instant START = Instant.parse("2026-03-29T00:59:50.123456Z");

	private final TestDatabase database;

	private final String name;

	private final String url;

	private final String adminName;

	private final String adminPassword;

	private String username;

	private String password;

	private final List<AutoCloseable> closeables = new ArrayList<>();

	private Instant now = START;

	public TestSchema(TestDatabase database, String name, String url, String username, String password) {
		this.database = database;
		this.name = name;
		this.url = url;
		this.adminName = username;
		this.adminPassword = password;
		this.username = username;
		this.password = password;
	}

	public TestDatabase database() {
		return this.database;
	}

	public String name() {
		return this.name;
	}

	public String url() {
		return this.url;
	}

	public String username() {
		return this.username;
	}

	public String password() {
		return this.password;
	}

	/**
	 * Create the tables by the scripts that are shipped.
	 * @return this schema
	 */
	public TestSchema withTables() {
		try (Connection connection = connect()) {
			for (String script : new String[] { "schema", "schema-fencing" }) {
				ScriptUtils.executeSqlScript(connection,
						new EncodedResource(new ClassPathResource("io/github/fencedleadership/jdbc/%s-%s.sql"
							.formatted(script, this.database.name().toLowerCase(Locale.ROOT))),
								StandardCharsets.UTF_8));
			}
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
		return this;
	}

	/**
	 * Let pools connect as a user with the privileges that the documentation asks for,
	 * and no others.
	 * @return this schema
	 */
	TestSchema leastPrivileged() {
		String user = "least_" + this.name;
		execute("CREATE USER " + user
				+ ((this.database == TestDatabase.POSTGRESQL) ? " PASSWORD 'least'" : " IDENTIFIED BY 'least'"));
		if (this.database == TestDatabase.POSTGRESQL) {
			execute("GRANT USAGE ON SCHEMA %s TO %s".formatted(this.name, user));
		}
		documentedGrants().forEach((grant) -> execute(grant.replace("TO app", "TO " + user)));
		this.username = user;
		this.password = "least";
		return this;
	}

	private static List<String> documentedGrants() {
		try {
			return Files.readString(Path.of("..", "docs", "databases.md"))
				.lines()
				.filter((line) -> line.startsWith("GRANT "))
				.map((line) -> line.replace(";", ""))
				.toList();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Return a pool that is closed with the schema.
	 * @param size the size of the pool
	 * @return the pool
	 */
	public HikariDataSource pool(int size) {
		HikariDataSource pool = new HikariDataSource();
		pool.setJdbcUrl(this.url);
		pool.setUsername(this.username);
		pool.setPassword(this.password);
		pool.setMaximumPoolSize(size);
		pool.setMinimumIdle(0);
		this.closeables.add(pool);
		return pool;
	}

	/**
	 * Return a database with a pool of its own, generous bounds, and the server's clock.
	 * @return the database, closed with the schema
	 */
	JdbcDatabase open() {
		return open(pool(2));
	}

	JdbcDatabase open(DataSource dataSource) {
		return register(builder(dataSource).build());
	}

	JdbcDatabase.Builder builder(DataSource dataSource) {
		return JdbcDatabase.builder(dataSource)
			.connectionTimeout(Duration.ofSeconds(30))
			.queryTimeout(Duration.ofSeconds(30));
	}

	JdbcDatabase register(JdbcDatabase jdbcDatabase) {
		this.closeables.add(jdbcDatabase);
		return jdbcDatabase;
	}

	/**
	 * Return a database whose clock stands still except when {@link #advance advanced}.
	 * @return the database
	 */
	JdbcDatabase openWithTestClock() {
		execute("CREATE TABLE test_clock (now_at %s NOT NULL)".formatted(switch (this.database) {
			case MARIADB, MYSQL -> "DATETIME(6)";
			default -> "TIMESTAMP(6) WITH TIME ZONE";
		}));
		execute("INSERT INTO test_clock VALUES (%s)".formatted(literal(this.now)));
		if (!this.username.equals(this.adminName)) {
			execute("GRANT SELECT ON test_clock TO " + this.username);
		}
		return register(builder(pool(2)).nowExpression("(SELECT c.now_at FROM test_clock c)").build());
	}

	void advance(Duration duration) {
		this.now = this.now.plus(duration);
		execute("UPDATE test_clock SET now_at = " + literal(this.now));
	}

	void reset() {
		execute("DELETE FROM fenced_lease");
		execute("DELETE FROM fenced_node");
		advance(Duration.between(this.now, START));
	}

	Instant now() {
		return this.now;
	}

	private String literal(Instant instant) {
		long micros = JdbcDialect.toMicros(instant);
		TableNames tables = TableNames.of(null, "x");
		return (switch (this.database) {
			case H2 -> new H2Dialect(tables, null);
			case POSTGRESQL -> new PostgresDialect(tables, null, false);
			default -> new MariaDbDialect(tables, null, Duration.ofSeconds(1));
		}).instant(Long.toString(micros));
	}

	Connection connect() throws SQLException {
		return DriverManager.getConnection(this.url, this.adminName, this.adminPassword);
	}

	public void execute(String sql) {
		try (Connection connection = connect(); Statement statement = connection.createStatement()) {
			statement.execute(sql);
		}
		catch (SQLException ex) {
			throw new IllegalStateException(sql, ex);
		}
	}

	public long queryForLong(String sql) {
		try (Connection connection = connect();
				Statement statement = connection.createStatement();
				ResultSet row = statement.executeQuery(sql)) {
			row.next();
			return row.getLong(1);
		}
		catch (SQLException ex) {
			throw new IllegalStateException(sql, ex);
		}
	}

	@Override
	public void close() {
		for (int i = this.closeables.size() - 1; i >= 0; i--) {
			try {
				this.closeables.get(i).close();
			}
			catch (Exception ex) {
				throw new IllegalStateException(ex);
			}
		}
	}

	@Override
	public String toString() {
		return this.database + ":" + this.name;
	}

}
