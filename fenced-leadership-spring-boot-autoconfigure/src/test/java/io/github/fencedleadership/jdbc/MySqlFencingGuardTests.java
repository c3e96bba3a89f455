package io.github.fencedleadership.jdbc;

/**
 * Tests for {@link JdbcFencingGuard} on MySQL.
 */
class MySqlFencingGuardTests extends JdbcFencingGuardContract {

	MySqlFencingGuardTests() {
		super(TestDatabase.MYSQL);
	}

}
