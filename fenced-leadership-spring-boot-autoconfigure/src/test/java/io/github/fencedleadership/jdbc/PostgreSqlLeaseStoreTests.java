package io.github.fencedleadership.jdbc;

/**
 * The contract of {@link JdbcLeaseStore} on PostgreSQL.
 */
class PostgreSqlLeaseStoreTests extends JdbcLeaseStoreContract {

	PostgreSqlLeaseStoreTests() {
		super(TestDatabase.POSTGRESQL);
	}

}
