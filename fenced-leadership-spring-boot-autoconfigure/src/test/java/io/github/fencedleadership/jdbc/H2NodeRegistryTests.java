package io.github.fencedleadership.jdbc;

/**
 * The contract of {@link JdbcNodeRegistry} on H2.
 */
class H2NodeRegistryTests extends JdbcNodeRegistryContract {

	H2NodeRegistryTests() {
		super(TestDatabase.H2);
	}

}
