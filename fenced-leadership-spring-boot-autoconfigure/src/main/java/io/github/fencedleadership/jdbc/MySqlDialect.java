package io.github.fencedleadership.jdbc;

import java.sql.SQLException;
import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * MySQL 8.0 and later: InnoDB as in {@link MariaDbDialect}, without an idle bound for
 * transactions. The one for connections does the same for as long as the transaction
 * runs.
 */
final class MySqlDialect extends MariaDbDialect {

	MySqlDialect(TableNames tables, @Nullable String now, Duration queryTimeout) {
		super(tables, now, queryTimeout);
	}

	@Override
	String platform() {
		return "mysql";
	}

	@Override
	String lockClause() {
		return "FOR UPDATE OF l SKIP LOCKED";
	}

	@Override
	void boundIdleTransactions(Session session) throws SQLException {
		long previous = session.queryForLong("SELECT @@SESSION.wait_timeout");
		if (previous > idleSeconds()) {
			session.execute("SET SESSION wait_timeout = " + idleSeconds());
			session.onEnd(() -> session.execute("SET SESSION wait_timeout = " + previous));
		}
	}

}
