package io.github.fencedleadership.jdbc;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import javax.sql.DataSource;

import org.springframework.jdbc.datasource.AbstractDataSource;

/**
 * Records what is sent to the database and what is answered with an error. Not looked
 * through, so that the store uses it rather than a pool of its own.
 */
final class RecordingDataSource extends AbstractDataSource {

	private final List<String> statements = new CopyOnWriteArrayList<>();

	private final List<SQLException> errors = new CopyOnWriteArrayList<>();

	private final DataSource dataSource;

	RecordingDataSource(DataSource dataSource) {
		this.dataSource = dataSource;
	}

	List<String> statements() {
		return this.statements;
	}

	List<SQLException> errors() {
		return this.errors;
	}

	@Override
	public Connection getConnection() throws SQLException {
		return proxy(Connection.class, this.dataSource.getConnection(), "");
	}

	@Override
	public Connection getConnection(String username, String password) throws SQLException {
		throw new UnsupportedOperationException();
	}

	private <T> T proxy(Class<T> type, T target, String sql) {
		return type
			.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type }, (proxy, method, arguments) -> {
				String name = method.getName();
				if (target instanceof Statement && name.startsWith("execute")) {
					this.statements.add(sql.isEmpty() ? String.valueOf(arguments[0]) : sql);
				}
				else if (name.equals("commit") || name.equals("rollback")) {
					this.statements.add(name);
				}
				try {
					Object result = method.invoke(target, arguments);
					if (name.equals("prepareStatement") && result instanceof PreparedStatement statement
							&& !(result instanceof CallableStatement)) {
						return proxy(PreparedStatement.class, statement, (String) arguments[0]);
					}
					return (result instanceof Statement statement && name.equals("createStatement"))
							? proxy(Statement.class, statement, "") : result;
				}
				catch (InvocationTargetException ex) {
					if (ex.getCause() instanceof SQLException sqlException) {
						this.errors.add(sqlException);
					}
					throw ex.getCause();
				}
			}));
	}

}
