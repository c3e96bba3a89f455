package io.github.fencedleadership.jdbc;

/**
 * Tests for {@link JdbcFencingGuard} on MariaDB.
 */
class MariaDbFencingGuardTests extends JdbcFencingGuardContract {

	MariaDbFencingGuardTests() {
		super(TestDatabase.MARIADB);
	}

}
