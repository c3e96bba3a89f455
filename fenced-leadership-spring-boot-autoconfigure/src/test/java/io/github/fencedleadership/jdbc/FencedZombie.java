package io.github.fencedleadership.jdbc;

import java.io.IOException;
import java.time.Duration;

import com.zaxxer.hikari.HikariDataSource;

import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.fencing.FencingToken;

/**
 * A leader in a process of its own, which {@link FrozenLeaderIntegrationTests} stops in
 * the middle of a fenced transaction. Arguments: URL, user, password, token, idle bound
 * in milliseconds. Says INSIDE when it has written and not committed, goes on to commit
 * when it is sent a line, and says COMMITTED, or FAILED with the exception.
 */
final class FencedZombie {

	private FencedZombie() {
	}

	public static void main(String[] args) {
		HikariDataSource dataSource = new HikariDataSource();
		dataSource.setJdbcUrl(args[0]);
		dataSource.setUsername(args[1]);
		dataSource.setPassword(args[2]);
		dataSource.setMaximumPoolSize(2);
		JdbcTemplate jdbc = new JdbcTemplate(dataSource);
		JdbcDatabase marks = JdbcDatabase.builder(dataSource)
			.connectionTimeout(Duration.ofSeconds(30))
			.queryTimeout(Duration.ofSeconds(30))
			.build();
		JdbcFencingGuard guard = new JdbcFencingGuard(marks, dataSource, "app",
				Duration.ofMillis(Long.parseLong(args[4])));
		FencingToken token = new FencingToken("reports", Long.parseLong(args[3]));
		try {
			new TransactionTemplate(new JdbcTransactionManager(dataSource)).executeWithoutResult((status) -> {
				guard.check("ledger", token);
				jdbc.update("INSERT INTO written VALUES (1, ?)", token.value());
				say("INSIDE");
				awaitLine();
			});
			say("COMMITTED");
		}
		catch (DataAccessException | TransactionException ex) {
			say("FAILED " + ex.getClass().getName());
		}
		System.exit(0);
	}

	private static void awaitLine() {
		try {
			if (System.in.read() < 0) {
				System.exit(1);
			}
		}
		catch (IOException ex) {
			System.exit(1);
		}
	}

	private static void say(String line) {
		System.out.println(line);
		System.out.flush();
	}

}
