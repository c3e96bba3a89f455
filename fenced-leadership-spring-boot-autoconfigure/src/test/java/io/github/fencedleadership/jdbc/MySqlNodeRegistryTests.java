package io.github.fencedleadership.jdbc;

/**
 * The contract of {@link JdbcNodeRegistry} on MySQL.
 */
class MySqlNodeRegistryTests extends JdbcNodeRegistryContract {

	MySqlNodeRegistryTests() {
		super(TestDatabase.MYSQL);
	}

}
