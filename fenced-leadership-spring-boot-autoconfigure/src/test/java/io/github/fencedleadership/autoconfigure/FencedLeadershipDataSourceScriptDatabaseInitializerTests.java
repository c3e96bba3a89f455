package io.github.fencedleadership.autoconfigure;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

import org.springframework.boot.sql.init.DatabaseInitializationMode;
import org.springframework.core.io.DefaultResourceLoader;

import io.github.fencedleadership.jdbc.TestDatabase;
import io.github.fencedleadership.jdbc.TestSchema;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;

/**
 * Tests for {@link FencedLeadershipDataSourceScriptDatabaseInitializer}.
 */
class FencedLeadershipDataSourceScriptDatabaseInitializerTests {

	private static final int NODES = 6;

	@ParameterizedTest
	@EnumSource
	void createsTablesWithConfiguredNames(TestDatabase database) {
		try (TestSchema schema = database.createSchema()) {
			FencedLeadershipJdbcProperties properties = properties(DatabaseInitializationMode.ALWAYS);
			properties.setTablePrefix("my_own_");
			initialize(schema.pool(1), properties);
			initialize(schema.pool(1), properties);
			for (String table : List.of("lease", "node", "history")) {
				assertThat(schema.queryForLong("SELECT count(*) FROM my_own_" + table)).isZero();
			}
		}
	}

	@ParameterizedTest
	@EnumSource(mode = Mode.EXCLUDE, names = "H2")
	void createsTablesInConfiguredSchema(TestDatabase database) {
		try (TestSchema schema = database.createSchema(); TestSchema other = database.createSchema()) {
			FencedLeadershipJdbcProperties properties = properties(DatabaseInitializationMode.ALWAYS);
			properties.setSchemaName(other.name());
			initialize(schema.pool(1), properties);
			assertThat(other.queryForLong("SELECT count(*) FROM fenced_lease")).isZero();
		}
	}

	/**
	 * A cluster that is started at once.
	 */
	@ParameterizedTest
	@EnumSource(mode = Mode.EXCLUDE, names = "H2")
	void severalNodesMayCreateTheTablesAtTheSameTime(TestDatabase database) throws Exception {
		ExecutorService executor = Executors.newFixedThreadPool(NODES);
		try {
			for (int round = 0; round < 5; round++) {
				try (TestSchema schema = database.createSchema()) {
					CyclicBarrier barrier = new CyclicBarrier(NODES);
					List<Future<?>> nodes = new ArrayList<>();
					for (int i = 0; i < NODES; i++) {
						HikariDataSource pool = schema.pool(1);
						pool.getConnection().close();
						nodes.add(executor.submit(() -> {
							barrier.await();
							initialize(pool, properties(DatabaseInitializationMode.ALWAYS));
							return null;
						}));
					}
					for (Future<?> node : nodes) {
						node.get();
					}
					assertThat(schema.queryForLong("SELECT count(*) FROM fenced_history")).isZero();
				}
			}
		}
		finally {
			executor.shutdownNow();
		}
	}

	@ParameterizedTest
	@EnumSource(mode = Mode.EXCLUDE, names = "H2")
	void leavesDatabaseThatIsNotEmbeddedAloneByDefault(TestDatabase database) {
		try (TestSchema schema = database.createSchema()) {
			FencedLeadershipDataSourceScriptDatabaseInitializer initializer = initializer(schema.pool(1),
					properties(DatabaseInitializationMode.EMBEDDED));
			assertThat(initializer.initializeDatabase()).isFalse();
		}
	}

	@Test
	void doesNotConnectToDatabaseThatCannotBeEmbedded() throws SQLException {
		HikariDataSource dataSource = mock(HikariDataSource.class);
		given(dataSource.getJdbcUrl()).willReturn("jdbc:postgresql://localhost/any");
		assertThat(initializer(dataSource, properties(DatabaseInitializationMode.EMBEDDED)).initializeDatabase())
			.isFalse();
		assertThat(initializer(dataSource, properties(DatabaseInitializationMode.NEVER)).initializeDatabase())
			.isFalse();
		then(dataSource).should(never()).getConnection();
	}

	@Test
	void continuesOnErrorOnlyIfTold() {
		assertThat(new FencedLeadershipJdbcProperties().isContinueOnError()).isFalse();
	}

	private static FencedLeadershipJdbcProperties properties(DatabaseInitializationMode mode) {
		FencedLeadershipJdbcProperties properties = new FencedLeadershipJdbcProperties();
		properties.setInitializeSchema(mode);
		return properties;
	}

	private static void initialize(HikariDataSource dataSource, FencedLeadershipJdbcProperties properties) {
		assertThat(initializer(dataSource, properties).initializeDatabase()).isTrue();
	}

	private static FencedLeadershipDataSourceScriptDatabaseInitializer initializer(HikariDataSource dataSource,
			FencedLeadershipJdbcProperties properties) {
		FencedLeadershipDataSourceScriptDatabaseInitializer initializer = new FencedLeadershipDataSourceScriptDatabaseInitializer(
				dataSource, properties);
		initializer.setResourceLoader(new DefaultResourceLoader());
		return initializer;
	}

}
