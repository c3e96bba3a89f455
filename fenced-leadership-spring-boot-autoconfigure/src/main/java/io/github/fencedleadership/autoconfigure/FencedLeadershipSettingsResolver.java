package io.github.fencedleadership.autoconfigure;

import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

import io.github.fencedleadership.annotation.RoleSettingsResolver;
import io.github.fencedleadership.autoconfigure.FencedLeadershipProperties.Role;
import io.github.fencedleadership.election.DefaultLeaderElector;
import io.github.fencedleadership.election.RoleSettings;
import io.github.fencedleadership.lease.Roles;

/**
 * Fills in what is not configured, and rejects what cannot work.
 * <p>
 * For a role, its own property wins over its annotation, which wins over the general
 * property. A lease TTL of its own derives its other times again, unless those are given
 * for the role too.
 */
class FencedLeadershipSettingsResolver implements RoleSettingsResolver {

	/**
	 * Leaves room for the incarnation in an owner id.
	 */
	static final int MAX_OWNER_NAME_LENGTH = DefaultLeaderElector.MAX_OWNER_NAME_LENGTH;

	private static final Duration MAX_DURATION = Duration.ofDays(365);

	private static final Duration MIN_DURATION = Duration.ofMillis(1);

	private static final Pattern OWNER_NAME = Pattern.compile("[!-~&&[^#]]{1," + MAX_OWNER_NAME_LENGTH + "}");

	private static final String PREFIX = "fenced-leadership.";

	private static final Log logger = LogFactory.getLog(FencedLeadershipSettingsResolver.class);

	private final FencedLeadershipProperties properties;

	private final Environment environment;

	private final ObjectProvider<StoreCallBound> storeCallBound;

	FencedLeadershipSettingsResolver(FencedLeadershipProperties properties, Environment environment,
			ObjectProvider<StoreCallBound> storeCallBound) {
		this.properties = properties;
		this.environment = environment;
		this.storeCallBound = storeCallBound;
	}

	FencedLeadershipSettings resolve() {
		RoleSettings defaults = defaults();
		Map<String, RoleSettings> roles = new TreeMap<>();
		this.properties.getRoles().forEach((name, role) -> {
			if (!Roles.isValid(name)) {
				throw new InvalidFencedLeadershipPropertyException(PREFIX + "roles", name, "is not the name of a role",
						"Use 1 to %d characters, each an ASCII letter or digit or one of '._:-' (in brackets if the name has others than letters, digits and dashes, as in 'fenced-leadership.roles[my.role].lease-ttl')"
							.formatted(Roles.MAX_LENGTH));
			}
			roles.put(name, ofRole(name, role, new Declared(null, null, null)));
		});
		FencedLeadershipProperties.Nodes nodes = this.properties.getNodes();
		Duration heartbeat = heartbeatInterval(nodes, defaults, roles);
		Duration liveness = livenessTtl(nodes, heartbeat);
		Duration retention = atLeast("nodes.retention", nodes.getRetention(), liveness,
				"must not be shorter than the liveness TTL '%s', or live nodes would be deleted".formatted(liveness));
		return new FencedLeadershipSettings(namespace(), ownerName(), defaults, Map.copyOf(roles), heartbeat, liveness,
				retention, drainTimeout());
	}

	@Override
	public @Nullable RoleSettings resolve(String role, Declared declared) {
		if (declared.isEmpty()) {
			return null;
		}
		Role configured = this.properties.getRoles().get(role);
		// If not a property's fault, the caller knows which annotation's it is
		RoleSettings settings = (configured != null) ? ofRole(role, configured, declared) : merge(new Role(), declared);
		this.storeCallBound.ifAvailable((bound) -> requireTimeForCall(settings, bound.duration()));
		return settings;
	}

	/**
	 * The bound of a call was derived before the annotations were known.
	 */
	private static void requireTimeForCall(RoleSettings settings, Duration call) {
		Duration available = settings.leaseTtl().minus(settings.safetyMargin()).minus(settings.renewInterval());
		if (call.compareTo(available) > 0) {
			throw new IllegalArgumentException(
					"the lease TTL '%s' leaves '%s' after the renew interval '%s' and the safety margin '%s', and a call of the store may take '%s': lower 'fenced-leadership.jdbc.connection-timeout' and 'fenced-leadership.jdbc.query-timeout'"
						.formatted(settings.leaseTtl(), available, settings.renewInterval(), settings.safetyMargin(),
								call));
		}
	}

	private RoleSettings defaults() {
		FencedLeadershipProperties properties = this.properties;
		atLeast("lease-ttl", properties.getLeaseTtl(), RoleSettings.MIN_LEASE_TTL);
		atLeast("renew-interval", properties.getRenewInterval(), MIN_DURATION);
		atLeast("standby-poll-interval", properties.getStandbyPollInterval(), MIN_DURATION);
		atLeast("safety-margin", properties.getSafetyMargin(), MIN_DURATION);
		atLeast("stall-timeout", properties.getStallTimeout(), Duration.ZERO);
		try {
			return RoleSettings.of(properties.getLeaseTtl(), properties.getRenewInterval(),
					properties.getStandbyPollInterval(), properties.getSafetyMargin(),
					unlessZero(properties.getStallTimeout()));
		}
		catch (IllegalArgumentException ex) {
			throw doesNotFit("", properties.getLeaseTtl(), properties.getRenewInterval(), properties.getSafetyMargin(),
					ex);
		}
	}

	private RoleSettings ofRole(String name, Role role, Declared declared) {
		String prefix = "roles.%s.".formatted(name);
		atLeast(prefix + "lease-ttl", role.getLeaseTtl(), RoleSettings.MIN_LEASE_TTL);
		atLeast(prefix + "renew-interval", role.getRenewInterval(), MIN_DURATION);
		atLeast(prefix + "standby-poll-interval", role.getStandbyPollInterval(), MIN_DURATION);
		atLeast(prefix + "safety-margin", role.getSafetyMargin(), MIN_DURATION);
		atLeast(prefix + "stall-timeout", role.getStallTimeout(), Duration.ZERO);
		try {
			return merge(role, declared);
		}
		catch (IllegalArgumentException ex) {
			throw doesNotFit(prefix, role.getLeaseTtl(), role.getRenewInterval(), role.getSafetyMargin(), ex);
		}
	}

	private RoleSettings merge(Role role, Declared declared) {
		FencedLeadershipProperties general = this.properties;
		Duration ownTtl = first(role.getLeaseTtl(), declared.leaseTtl());
		boolean derive = ownTtl != null;
		Duration ttl = (ownTtl != null) ? ownTtl : general.getLeaseTtl();
		Duration renewInterval = first(first(role.getRenewInterval(), declared.renewInterval()),
				derive ? null : general.getRenewInterval());
		Duration pollInterval = first(role.getStandbyPollInterval(), derive ? null : general.getStandbyPollInterval());
		Duration margin = first(role.getSafetyMargin(), derive ? null : general.getSafetyMargin());
		Duration stallTimeout = first(first(role.getStallTimeout(), declared.stallTimeout()),
				general.getStallTimeout());
		Stream.of(ttl, renewInterval).forEach(FencedLeadershipSettingsResolver::requireNotTooLong);
		return RoleSettings.of(ttl, renewInterval, pollInterval, margin, unlessZero(stallTimeout));
	}

	private static @Nullable Duration first(@Nullable Duration first, @Nullable Duration second) {
		return (first != null) ? first : second;
	}

	private static @Nullable Duration unlessZero(@Nullable Duration duration) {
		return (duration == null || duration.isZero()) ? null : duration;
	}

	private static void requireNotTooLong(@Nullable Duration duration) {
		if (duration != null && duration.compareTo(MAX_DURATION) > 0) {
			throw new IllegalArgumentException("'%s' must be at most '%s'".formatted(duration, MAX_DURATION));
		}
	}

	private static InvalidFencedLeadershipPropertyException doesNotFit(String prefix, @Nullable Duration leaseTtl,
			@Nullable Duration renewInterval, @Nullable Duration safetyMargin, IllegalArgumentException cause) {
		String property = "lease-ttl";
		Object value = (leaseTtl != null) ? leaseTtl : "(not set)";
		if (renewInterval != null) {
			property = "renew-interval";
			value = renewInterval;
		}
		else if (safetyMargin != null) {
			property = "safety-margin";
			value = safetyMargin;
		}
		InvalidFencedLeadershipPropertyException exception = new InvalidFencedLeadershipPropertyException(
				PREFIX + prefix + property, value, "does not fit: " + cause.getMessage(),
				"Shorten '%1$srenew-interval' or '%1$ssafety-margin', or lengthen '%1$slease-ttl'; without values of their own they are a third and a tenth of the lease TTL"
					.formatted(PREFIX + prefix));
		exception.initCause(cause);
		return exception;
	}

	private static Duration heartbeatInterval(FencedLeadershipProperties.Nodes nodes, RoleSettings defaults,
			Map<String, RoleSettings> roles) {
		Duration configured = nodes.getHeartbeatInterval();
		if (configured != null) {
			return atLeast("nodes.heartbeat-interval", configured, MIN_DURATION, null);
		}
		return Stream.concat(Stream.of(defaults), roles.values().stream())
			.map(RoleSettings::renewInterval)
			.min(Duration::compareTo)
			.orElse(defaults.renewInterval());
	}

	private static Duration livenessTtl(FencedLeadershipProperties.Nodes nodes, Duration heartbeat) {
		Duration configured = nodes.getLivenessTtl();
		if (configured == null) {
			return heartbeat.multipliedBy(3);
		}
		if (configured.compareTo(heartbeat) <= 0) {
			throw new InvalidFencedLeadershipPropertyException(PREFIX + "nodes.liveness-ttl", configured,
					"is not longer than the heartbeat interval '%s', so that a node would seem dead between two heartbeats"
						.formatted(heartbeat),
					"Lengthen it, or shorten 'fenced-leadership.nodes.heartbeat-interval'; without a value of its own it is three heartbeat intervals");
		}
		return atLeast("nodes.liveness-ttl", configured, MIN_DURATION, null);
	}

	private Duration drainTimeout() {
		Duration drainTimeout = atLeast("shutdown.drain-timeout", this.properties.getShutdown().getDrainTimeout(),
				Duration.ZERO, null);
		Duration phaseTimeout = this.environment.getProperty("spring.lifecycle.timeout-per-shutdown-phase",
				Duration.class, Duration.ofSeconds(30));
		if (drainTimeout.compareTo(phaseTimeout) >= 0) {
			logger.warn(
					"Property 'fenced-leadership.shutdown.drain-timeout' with value '%s' is not below 'spring.lifecycle.timeout-per-shutdown-phase' with value '%s': the web server may be stopped before leader work has ended. Shorten the former or lengthen the latter"
						.formatted(drainTimeout, phaseTimeout));
		}
		return drainTimeout;
	}

	private String namespace() {
		String namespace = this.properties.getNamespace();
		if (StringUtils.hasText(namespace)) {
			return validNamespace(PREFIX + "namespace", namespace);
		}
		String applicationName = this.environment.getProperty("spring.application.name");
		return StringUtils.hasText(applicationName) ? validNamespace("spring.application.name", applicationName)
				: "default";
	}

	private static String validNamespace(String property, String value) {
		if (!Roles.isValid(value)) {
			throw new InvalidFencedLeadershipPropertyException(property, value, "cannot be used as a namespace",
					"Set 'fenced-leadership.namespace' to 1 to %d characters, each an ASCII letter or digit or one of '._:-'"
						.formatted(Roles.MAX_LENGTH));
		}
		return value;
	}

	private String ownerName() {
		String configured = this.properties.getOwnerId();
		if (!StringUtils.hasText(configured)) {
			return sanitize(HostName.get());
		}
		if (!OWNER_NAME.matcher(configured).matches()) {
			throw new InvalidFencedLeadershipPropertyException(PREFIX + "owner-id", configured,
					"cannot be used as the name of a node",
					"Use 1 to %d visible ASCII characters other than '#'".formatted(MAX_OWNER_NAME_LENGTH));
		}
		return configured;
	}

	static String sanitize(String hostName) {
		String name = hostName.strip().replaceAll("[^!-~]|#", "-");
		if (name.isEmpty()) {
			return "localhost";
		}
		return (name.length() <= MAX_OWNER_NAME_LENGTH) ? name : name.substring(0, MAX_OWNER_NAME_LENGTH);
	}

	private static void atLeast(String property, @Nullable Duration value, Duration minimum) {
		if (value != null) {
			atLeast(property, value, minimum, null);
		}
	}

	private static Duration atLeast(String property, Duration value, Duration minimum, @Nullable String reason) {
		if (value.compareTo(minimum) < 0) {
			throw new InvalidFencedLeadershipPropertyException(PREFIX + property, value,
					(reason != null) ? reason : "is too short", "Set it to at least '%s'".formatted(minimum));
		}
		if (value.compareTo(MAX_DURATION) > 0) {
			throw new InvalidFencedLeadershipPropertyException(PREFIX + property, value, "is too long",
					"Set it to at most '%s'".formatted(MAX_DURATION));
		}
		return value;
	}

}
