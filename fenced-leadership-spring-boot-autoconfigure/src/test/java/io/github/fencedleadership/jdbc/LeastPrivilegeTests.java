package io.github.fencedleadership.jdbc;

import java.sql.SQLException;
import java.time.Duration;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.StaleFencingTokenException;
import io.github.fencedleadership.lease.LeaseResult;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * A database user with the privileges that the documentation asks for needs no others.
 */
class LeastPrivilegeTests {

	@Nested
	class LeasesOnPostgreSql extends JdbcLeaseStoreContract {

		LeasesOnPostgreSql() {
			super(TestDatabase.POSTGRESQL);
		}

		@Override
		TestSchema prepare(TestSchema schema) {
			return schema.leastPrivileged();
		}

	}

	@Nested
	class LeasesOnMariaDb extends JdbcLeaseStoreContract {

		LeasesOnMariaDb() {
			super(TestDatabase.MARIADB);
		}

		@Override
		TestSchema prepare(TestSchema schema) {
			return schema.leastPrivileged();
		}

	}

	@Nested
	class NodesOnPostgreSql extends JdbcNodeRegistryContract {

		NodesOnPostgreSql() {
			super(TestDatabase.POSTGRESQL);
		}

		@Override
		TestSchema prepare(TestSchema schema) {
			return schema.leastPrivileged();
		}

	}

	@Nested
	class NodesOnMariaDb extends JdbcNodeRegistryContract {

		NodesOnMariaDb() {
			super(TestDatabase.MARIADB);
		}

		@Override
		TestSchema prepare(TestSchema schema) {
			return schema.leastPrivileged();
		}

	}

	@ParameterizedTest
	@EnumSource(value = TestDatabase.class, names = { "POSTGRESQL", "MARIADB" })
	void fencesWrites(TestDatabase database) {
		try (TestSchema schema = database.createSchema().withTables().leastPrivileged()) {
			HikariDataSource dataSource = schema.pool(4);
			JdbcLeaseStore leases = new JdbcLeaseStore(schema.open(), "app");
			LeaseResult first = leases.tryAcquireOrRenew("role", "a", Duration.ofMinutes(1));
			TransactionTemplate transactions = new TransactionTemplate(new JdbcTransactionManager(dataSource));
			try (JdbcFencingGuard guard = new JdbcFencingGuard(schema.open(), dataSource, "app",
					Duration.ofSeconds(30))) {
				transactions.executeWithoutResult(
						(status) -> guard.check("resource", new FencingToken("role", first.fencingToken())));
				leases.release("role", "a", first.fencingToken());
				leases.tryAcquireOrRenew("role", "b", Duration.ofMinutes(1));
				assertThatExceptionOfType(StaleFencingTokenException.class)
					.isThrownBy(() -> transactions.executeWithoutResult(
							(status) -> guard.check("resource", new FencingToken("role", first.fencingToken()))));
			}
		}
	}

	@ParameterizedTest
	@EnumSource(value = TestDatabase.class, names = { "POSTGRESQL", "MARIADB" })
	void theUserMayDoNothingElse(TestDatabase database) {
		try (TestSchema schema = database.createSchema().withTables().leastPrivileged()) {
			JdbcTemplate jdbc = new JdbcTemplate(schema.pool(1));
			assertThat(jdbc.queryForObject("SELECT CURRENT_USER", String.class)).startsWith("least_" + schema.name());
			for (String sql : new String[] { "DELETE FROM fenced_lease", "DELETE FROM fenced_resource",
					"CREATE TABLE other (id INT)", "DROP TABLE fenced_lease" }) {
				assertThatException().as(sql)
					.isThrownBy(() -> jdbc.execute(sql))
					.withRootCauseInstanceOf(SQLException.class);
			}
		}
	}

}
