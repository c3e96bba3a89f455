package io.github.fencedleadership.benchmarks;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

import javax.sql.DataSource;

import org.springframework.jdbc.datasource.DelegatingDataSource;

/**
 * Counts what is sent to a database: statements, commits and rollbacks of transactions,
 * and apart from them the checks of a pool whether a connection is still alive.
 */
final class StatementCounter {

	private static final Set<String> EXECUTIONS = Set.of("execute", "executeQuery", "executeUpdate", "executeBatch",
			"executeLargeUpdate", "executeLargeBatch");

	private final AtomicLong statements = new AtomicLong();

	private final AtomicLong checks = new AtomicLong();

	void reset() {
		this.statements.set(0);
		this.checks.set(0);
	}

	long statements() {
		return this.statements.get();
	}

	long checks() {
		return this.checks.get();
	}

	DataSource count(DataSource dataSource) {
		return new DelegatingDataSource(dataSource) {

			@Override
			public Connection getConnection() throws SQLException {
				return (Connection) proxy(super.getConnection(), Connection.class);
			}

		};
	}

	private Object proxy(Object target, Class<?> type) {
		InvocationHandler handler = (proxy, method, arguments) -> {
			String name = method.getName();
			if (EXECUTIONS.contains(name) || name.equals("commit") || name.equals("rollback")) {
				this.statements.incrementAndGet();
			}
			else if (name.equals("isValid")) {
				this.checks.incrementAndGet();
			}
			try {
				Object result = method.invoke(target, arguments);
				if (name.equals("unwrap")) {
					return result;
				}
				if (result instanceof CallableStatement) {
					return proxy(result, CallableStatement.class);
				}
				if (result instanceof PreparedStatement) {
					return proxy(result, PreparedStatement.class);
				}
				return (result instanceof Statement) ? proxy(result, Statement.class) : result;
			}
			catch (InvocationTargetException ex) {
				throw ex.getTargetException();
			}
		};
		return Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] { type }, handler);
	}

}
