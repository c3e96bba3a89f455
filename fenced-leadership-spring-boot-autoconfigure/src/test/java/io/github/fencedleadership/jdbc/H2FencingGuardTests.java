package io.github.fencedleadership.jdbc;

/**
 * Tests for {@link JdbcFencingGuard} on H2.
 */
class H2FencingGuardTests extends JdbcFencingGuardContract {

	H2FencingGuardTests() {
		super(TestDatabase.H2);
	}

}
