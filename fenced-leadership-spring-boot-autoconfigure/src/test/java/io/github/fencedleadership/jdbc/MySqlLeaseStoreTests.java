package io.github.fencedleadership.jdbc;

/**
 * The contract of {@link JdbcLeaseStore} on MySQL.
 */
class MySqlLeaseStoreTests extends JdbcLeaseStoreContract {

	MySqlLeaseStoreTests() {
		super(TestDatabase.MYSQL);
	}

}
