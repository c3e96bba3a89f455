package io.github.fencedleadership.autoconfigure;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * Configuration properties for fenced writes.
 */
@ConfigurationProperties("fenced-leadership.fencing")
public class FencedLeadershipFencingProperties {

	static final String DEFAULT_SCHEMA_LOCATION = "classpath:io/github/fencedleadership/jdbc/schema-fencing-@@platform@@.sql";

	/**
	 * How long a fenced transaction may be idle before the database ends it, so that a
	 * leader that is frozen inside of it does not keep its successor waiting. Zero for as
	 * long as it likes. Defaults to the lease TTL.
	 */
	private @Nullable Duration idleTimeout;

	/**
	 * Location of the script that creates the table of the guard in the database that is
	 * written to. It is run when 'fenced-leadership.jdbc.initialize-schema' says so, and
	 * names of tables in it that begin with 'fenced_' follow 'table-prefix' and
	 * 'schema-name'.
	 */
	private String schema = DEFAULT_SCHEMA_LOCATION;

	public @Nullable Duration getIdleTimeout() {
		return this.idleTimeout;
	}

	public void setIdleTimeout(@Nullable Duration idleTimeout) {
		this.idleTimeout = idleTimeout;
	}

	public String getSchema() {
		return this.schema;
	}

	public void setSchema(String schema) {
		this.schema = schema;
	}

}
