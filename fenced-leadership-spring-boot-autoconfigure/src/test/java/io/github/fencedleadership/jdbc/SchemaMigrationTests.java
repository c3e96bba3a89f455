package io.github.fencedleadership.jdbc;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.time.Duration;
import java.util.Locale;

import javax.sql.DataSource;

import liquibase.Liquibase;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.ClassLoaderResourceAccessor;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.lease.LeaseResult;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The files for Flyway and Liquibase make the tables that the stores need.
 */
class SchemaMigrationTests {

	private static final String LOCATION = "io/github/fencedleadership/jdbc/";

	@ParameterizedTest
	@ValueSource(strings = { "postgresql", "mariadb", "mysql", "h2" })
	void flywayHasTheScriptsThatAreShipped(String platform) throws IOException {
		String directory = "flyway/" + platform + "/";
		assertThat(read(directory + "R__fenced_leadership.sql")).isEqualTo(read("schema-" + platform + ".sql"));
		assertThat(read(directory + "R__fenced_leadership_fencing.sql"))
			.isEqualTo(read("schema-fencing-" + platform + ".sql"));
	}

	@ParameterizedTest
	@EnumSource(TestDatabase.class)
	void flywayMigratesAgainAndAgain(TestDatabase database) {
		try (TestSchema schema = database.createSchema()) {
			DataSource dataSource = schema.pool(5);
			migrateByFlyway(database, dataSource);
			long token = lead(schema, dataSource);
			migrateByFlyway(database, dataSource);
			assertThat(lead(schema, dataSource)).isEqualTo(token + 1);
		}
	}

	@ParameterizedTest
	@EnumSource(TestDatabase.class)
	void liquibaseMigratesAgainAndAgain(TestDatabase database) throws Exception {
		try (TestSchema schema = database.createSchema()) {
			DataSource dataSource = schema.pool(5);
			migrateByLiquibase(dataSource);
			long token = lead(schema, dataSource);
			migrateByLiquibase(dataSource);
			assertThat(lead(schema, dataSource)).isEqualTo(token + 1);
		}
	}

	private static void migrateByFlyway(TestDatabase database, DataSource dataSource) {
		Flyway.configure()
			.dataSource(dataSource)
			.locations("classpath:" + LOCATION + "flyway/" + database.name().toLowerCase(Locale.ROOT))
			.load()
			.migrate();
	}

	private static void migrateByLiquibase(DataSource dataSource) throws Exception {
		try (Connection connection = dataSource.getConnection()) {
			Database target = DatabaseFactory.getInstance()
				.findCorrectDatabaseImplementation(new JdbcConnection(connection));
			try (Liquibase liquibase = new Liquibase(LOCATION + "liquibase/changelog.yaml",
					new ClassLoaderResourceAccessor(), target)) {
				liquibase.update();
			}
		}
	}

	/**
	 * Take a term, write fenced in it, and release it.
	 */
	private static long lead(TestSchema schema, DataSource dataSource) {
		JdbcDatabase database = schema.open(dataSource);
		JdbcLeaseStore leases = new JdbcLeaseStore(database, "migration");
		LeaseResult lease = leases.tryAcquireOrRenew("role", "node", Duration.ofMinutes(1));
		try (JdbcFencingGuard guard = new JdbcFencingGuard(schema.open(dataSource), dataSource, "migration",
				Duration.ZERO)) {
			new TransactionTemplate(new DataSourceTransactionManager(dataSource)).executeWithoutResult(
					(status) -> guard.check("resource", new FencingToken("role", lease.fencingToken())));
		}
		assertThat(leases.release("role", "node", lease.fencingToken())).isTrue();
		return lease.fencingToken();
	}

	private static String read(String name) throws IOException {
		return new ClassPathResource(LOCATION + name).getContentAsString(StandardCharsets.UTF_8);
	}

}
