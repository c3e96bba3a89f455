package io.github.fencedleadership.autoconfigure;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.jdbc.init.DatabaseInitializationProperties;

import io.github.fencedleadership.jdbc.JdbcDatabase;

/**
 * Configuration properties for leases and nodes in a relational database.
 */
@ConfigurationProperties("fenced-leadership.jdbc")
public class FencedLeadershipJdbcProperties extends DatabaseInitializationProperties {

	static final String DEFAULT_SCHEMA_LOCATION = "classpath:io/github/fencedleadership/jdbc/schema-@@platform@@.sql";

	/**
	 * Prefix of the names of the tables.
	 */
	private String tablePrefix = JdbcDatabase.DEFAULT_TABLE_PREFIX;

	/**
	 * Schema that the tables are in (on MariaDB and MySQL: the database). It has to
	 * exist. Defaults to the connection's own.
	 */
	private @Nullable String schemaName;

	/**
	 * How long a store call waits for a connection. Defaults to a quarter of the smallest
	 * renew interval.
	 */
	private @Nullable Duration connectionTimeout;

	/**
	 * How long a store call waits for the database's answers once it has a connection.
	 * Defaults to a quarter of the smallest renew interval.
	 */
	private @Nullable Duration queryTimeout;

	/**
	 * Whether nodes tell each other when they release a role, where the database can:
	 * PostgreSQL, on a connection of the node's own.
	 */
	private boolean releaseNotifications = true;

	public FencedLeadershipJdbcProperties() {
		setContinueOnError(false);
	}

	public String getTablePrefix() {
		return this.tablePrefix;
	}

	public void setTablePrefix(String tablePrefix) {
		this.tablePrefix = tablePrefix;
	}

	public @Nullable String getSchemaName() {
		return this.schemaName;
	}

	public void setSchemaName(@Nullable String schemaName) {
		this.schemaName = schemaName;
	}

	public @Nullable Duration getConnectionTimeout() {
		return this.connectionTimeout;
	}

	public void setConnectionTimeout(@Nullable Duration connectionTimeout) {
		this.connectionTimeout = connectionTimeout;
	}

	public @Nullable Duration getQueryTimeout() {
		return this.queryTimeout;
	}

	public void setQueryTimeout(@Nullable Duration queryTimeout) {
		this.queryTimeout = queryTimeout;
	}

	public boolean isReleaseNotifications() {
		return this.releaseNotifications;
	}

	public void setReleaseNotifications(boolean releaseNotifications) {
		this.releaseNotifications = releaseNotifications;
	}

	@Override
	public String getDefaultSchemaLocation() {
		return DEFAULT_SCHEMA_LOCATION;
	}

}
