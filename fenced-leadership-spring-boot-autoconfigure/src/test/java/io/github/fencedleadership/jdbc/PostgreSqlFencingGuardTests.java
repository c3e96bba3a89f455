package io.github.fencedleadership.jdbc;

/**
 * Tests for {@link JdbcFencingGuard} on PostgreSQL.
 */
class PostgreSqlFencingGuardTests extends JdbcFencingGuardContract {

	PostgreSqlFencingGuardTests() {
		super(TestDatabase.POSTGRESQL);
	}

}
