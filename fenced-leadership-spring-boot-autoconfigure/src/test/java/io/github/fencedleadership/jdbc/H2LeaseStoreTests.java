package io.github.fencedleadership.jdbc;

/**
 * The contract of {@link JdbcLeaseStore} on H2.
 */
class H2LeaseStoreTests extends JdbcLeaseStoreContract {

	H2LeaseStoreTests() {
		super(TestDatabase.H2);
	}

}
