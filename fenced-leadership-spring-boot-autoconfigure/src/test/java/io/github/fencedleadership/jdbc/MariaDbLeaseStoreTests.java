package io.github.fencedleadership.jdbc;

/**
 * The contract of {@link JdbcLeaseStore} on MariaDB.
 */
class MariaDbLeaseStoreTests extends JdbcLeaseStoreContract {

	MariaDbLeaseStoreTests() {
		super(TestDatabase.MARIADB);
	}

}
