package io.github.fencedleadership.jdbc;

/**
 * The contract of {@link JdbcNodeRegistry} on PostgreSQL.
 */
class PostgreSqlNodeRegistryTests extends JdbcNodeRegistryContract {

	PostgreSqlNodeRegistryTests() {
		super(TestDatabase.POSTGRESQL);
	}

}
