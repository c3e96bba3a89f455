package io.github.fencedleadership.autoconfigure;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * Configuration properties for fenced writes.
 */
@ConfigurationProperties("fenced-leadership.fencing")
public class FencedLeadershipFencingProperties {

	/**
	 * How long a fenced transaction may be idle before the database ends it, so that a
	 * leader that is frozen inside of it does not keep its successor waiting. Zero for as
	 * long as it likes. Defaults to the lease TTL.
	 */
	private @Nullable Duration idleTimeout;

	public @Nullable Duration getIdleTimeout() {
		return this.idleTimeout;
	}

	public void setIdleTimeout(@Nullable Duration idleTimeout) {
		this.idleTimeout = idleTimeout;
	}

}
