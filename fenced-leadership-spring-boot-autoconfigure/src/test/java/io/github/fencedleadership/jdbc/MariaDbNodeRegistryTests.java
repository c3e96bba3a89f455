package io.github.fencedleadership.jdbc;

/**
 * The contract of {@link JdbcNodeRegistry} on MariaDB.
 */
class MariaDbNodeRegistryTests extends JdbcNodeRegistryContract {

	MariaDbNodeRegistryTests() {
		super(TestDatabase.MARIADB);
	}

}
