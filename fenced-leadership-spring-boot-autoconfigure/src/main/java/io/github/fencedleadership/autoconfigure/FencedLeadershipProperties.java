package io.github.fencedleadership.autoconfigure;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * Configuration properties for fenced leadership.
 */
@ConfigurationProperties("fenced-leadership")
public class FencedLeadershipProperties {

	/**
	 * Whether this application contends for leadership. If not, @FencedLeader work never
	 * runs here and gates stay closed.
	 */
	private boolean enabled = true;

	/**
	 * Scope of the role names. Defaults to "spring.application.name", or "default".
	 */
	private @Nullable String namespace;

	/**
	 * Name of this node, the first part of its owner id; a random incarnation is added at
	 * every start. Defaults to the host name.
	 */
	private @Nullable String ownerId;

	/**
	 * Where leases and nodes are kept.
	 */
	private StoreType store = StoreType.AUTO;

	/**
	 * How long a lease is held without being renewed.
	 */
	private Duration leaseTtl = Duration.ofSeconds(30);

	/**
	 * How often a held lease is renewed. Defaults to a third of the lease TTL.
	 */
	private @Nullable Duration renewInterval;

	/**
	 * How often a standby looks for a role that was released before its lease lapsed.
	 * Defaults to a fifth of the renew interval.
	 */
	private @Nullable Duration standbyPollInterval;

	/**
	 * How much earlier than its lease a leader gives up. Defaults to a tenth of the lease
	 * TTL.
	 */
	private @Nullable Duration safetyMargin;

	/**
	 * After how long without progress running work loses its leadership. Off by default
	 * and when zero.
	 */
	private @Nullable Duration stallTimeout;

	/**
	 * Settings that differ for single roles, by role name.
	 */
	private final Map<String, Role> roles = new LinkedHashMap<>();

	private final Nodes nodes = new Nodes();

	private final Shutdown shutdown = new Shutdown();

	public boolean isEnabled() {
		return this.enabled;
	}

	public void setEnabled(boolean enabled) {
		this.enabled = enabled;
	}

	public @Nullable String getNamespace() {
		return this.namespace;
	}

	public void setNamespace(@Nullable String namespace) {
		this.namespace = namespace;
	}

	public @Nullable String getOwnerId() {
		return this.ownerId;
	}

	public void setOwnerId(@Nullable String ownerId) {
		this.ownerId = ownerId;
	}

	public StoreType getStore() {
		return this.store;
	}

	public void setStore(StoreType store) {
		this.store = store;
	}

	public Duration getLeaseTtl() {
		return this.leaseTtl;
	}

	public void setLeaseTtl(Duration leaseTtl) {
		this.leaseTtl = leaseTtl;
	}

	public @Nullable Duration getRenewInterval() {
		return this.renewInterval;
	}

	public void setRenewInterval(@Nullable Duration renewInterval) {
		this.renewInterval = renewInterval;
	}

	public @Nullable Duration getStandbyPollInterval() {
		return this.standbyPollInterval;
	}

	public void setStandbyPollInterval(@Nullable Duration standbyPollInterval) {
		this.standbyPollInterval = standbyPollInterval;
	}

	public @Nullable Duration getSafetyMargin() {
		return this.safetyMargin;
	}

	public void setSafetyMargin(@Nullable Duration safetyMargin) {
		this.safetyMargin = safetyMargin;
	}

	public @Nullable Duration getStallTimeout() {
		return this.stallTimeout;
	}

	public void setStallTimeout(@Nullable Duration stallTimeout) {
		this.stallTimeout = stallTimeout;
	}

	public Map<String, Role> getRoles() {
		return this.roles;
	}

	public Nodes getNodes() {
		return this.nodes;
	}

	public Shutdown getShutdown() {
		return this.shutdown;
	}

	/**
	 * Where leases and nodes are kept.
	 */
	public enum StoreType {

		/**
		 * In the database of the DataSource.
		 */
		AUTO,

		/**
		 * In the database of the DataSource.
		 */
		JDBC,

		/**
		 * In the memory of this process: elects within this process only.
		 */
		MEMORY

	}

	/**
	 * Settings of one role. What is not set is derived from the role's own lease TTL if
	 * it has one, else taken from the general settings.
	 */
	public static class Role {

		/**
		 * How long a lease of the role is held without being renewed.
		 */
		private @Nullable Duration leaseTtl;

		/**
		 * How often a held lease of the role is renewed.
		 */
		private @Nullable Duration renewInterval;

		/**
		 * How often a standby of the role looks for an early release.
		 */
		private @Nullable Duration standbyPollInterval;

		/**
		 * How much earlier than its lease a leader of the role gives up.
		 */
		private @Nullable Duration safetyMargin;

		/**
		 * After how long without progress running work of the role loses its leadership.
		 * Off when zero.
		 */
		private @Nullable Duration stallTimeout;

		public @Nullable Duration getLeaseTtl() {
			return this.leaseTtl;
		}

		public void setLeaseTtl(@Nullable Duration leaseTtl) {
			this.leaseTtl = leaseTtl;
		}

		public @Nullable Duration getRenewInterval() {
			return this.renewInterval;
		}

		public void setRenewInterval(@Nullable Duration renewInterval) {
			this.renewInterval = renewInterval;
		}

		public @Nullable Duration getStandbyPollInterval() {
			return this.standbyPollInterval;
		}

		public void setStandbyPollInterval(@Nullable Duration standbyPollInterval) {
			this.standbyPollInterval = standbyPollInterval;
		}

		public @Nullable Duration getSafetyMargin() {
			return this.safetyMargin;
		}

		public void setSafetyMargin(@Nullable Duration safetyMargin) {
			this.safetyMargin = safetyMargin;
		}

		public @Nullable Duration getStallTimeout() {
			return this.stallTimeout;
		}

		public void setStallTimeout(@Nullable Duration stallTimeout) {
			this.stallTimeout = stallTimeout;
		}

	}

	/**
	 * Membership of nodes.
	 */
	public static class Nodes {

		/**
		 * How often this node reports that it is alive. Defaults to the renew interval.
		 */
		private @Nullable Duration heartbeatInterval;

		/**
		 * How long a node counts as live after a heartbeat. Defaults to three heartbeat
		 * intervals.
		 */
		private @Nullable Duration livenessTtl;

		/**
		 * How long a node that no longer reports is kept before its row is deleted.
		 */
		private Duration retention = Duration.ofDays(1);

		public @Nullable Duration getHeartbeatInterval() {
			return this.heartbeatInterval;
		}

		public void setHeartbeatInterval(@Nullable Duration heartbeatInterval) {
			this.heartbeatInterval = heartbeatInterval;
		}

		public @Nullable Duration getLivenessTtl() {
			return this.livenessTtl;
		}

		public void setLivenessTtl(@Nullable Duration livenessTtl) {
			this.livenessTtl = livenessTtl;
		}

		public Duration getRetention() {
			return this.retention;
		}

		public void setRetention(Duration retention) {
			this.retention = retention;
		}

	}

	/**
	 * What happens when the application stops.
	 */
	public static class Shutdown {

		/**
		 * How long to wait for running work to end, while its leases are still renewed.
		 */
		private Duration drainTimeout = Duration.ofSeconds(20);

		public Duration getDrainTimeout() {
			return this.drainTimeout;
		}

		public void setDrainTimeout(Duration drainTimeout) {
			this.drainTimeout = drainTimeout;
		}

	}

}
