package io.github.fencedleadership.autoconfigure;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.NoUniqueBeanDefinitionException;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.init.DatabaseInitializationProperties;
import org.springframework.boot.sql.autoconfigure.init.OnDatabaseInitializationCondition;
import org.springframework.boot.sql.init.dependency.DatabaseInitializationDependencyConfigurer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.util.StringUtils;

import io.github.fencedleadership.election.RoleSettings;
import io.github.fencedleadership.jdbc.JdbcDatabase;
import io.github.fencedleadership.jdbc.JdbcLeaseStore;
import io.github.fencedleadership.jdbc.JdbcNodeRegistry;
import io.github.fencedleadership.jdbc.JdbcReleaseNotifications;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.lease.ReleaseNotifications;
import io.github.fencedleadership.membership.NodeRegistry;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for leases and nodes in a relational
 * database: that of the DataSource qualified with {@link FencedLeadershipDataSource
 * &#64;FencedLeadershipDataSource}, else that of the single or primary one.
 */
@AutoConfiguration(after = DataSourceAutoConfiguration.class)
@ConditionalOnClass({ DelegatingDataSource.class, DatabaseInitializationProperties.class })
@ConditionalOnBooleanProperty(name = "fenced-leadership.enabled", matchIfMissing = true)
@Conditional(OnJdbcStoreCondition.class)
@EnableConfigurationProperties(FencedLeadershipJdbcProperties.class)
@Import(DatabaseInitializationDependencyConfigurer.class)
public final class FencedLeadershipJdbcAutoConfiguration {

	private static final String PREFIX = "fenced-leadership.jdbc.";

	@Bean(destroyMethod = "close")
	@ConditionalOnMissingBean
	JdbcDatabase fencedLeadershipJdbcDatabase(ObjectProvider<DataSource> dataSource,
			@FencedLeadershipDataSource ObjectProvider<DataSource> qualifiedDataSource,
			FencedLeadershipJdbcProperties properties, FencedLeadershipSettings settings,
			ListableBeanFactory beanFactory) {
		Duration derived = Stream.concat(Stream.of(settings.defaults()), settings.roles().values().stream())
			.map(RoleSettings::renewInterval)
			.min(Duration::compareTo)
			.orElseThrow()
			.dividedBy(4);
		Duration connectionTimeout = timeout(properties.getConnectionTimeout(), derived, "connection-timeout");
		Duration queryTimeout = timeout(properties.getQueryTimeout(), derived, "query-timeout");
		requireFits(connectionTimeout, queryTimeout, properties, settings);
		JdbcDatabase.Builder builder = JdbcDatabase.builder(select(dataSource, qualifiedDataSource, beanFactory))
			.connectionTimeout(connectionTimeout)
			.queryTimeout(queryTimeout)
			.tellsReleases(properties.isReleaseNotifications());
		identifier("table-prefix", properties.getTablePrefix(), builder::tablePrefix);
		if (StringUtils.hasText(properties.getSchemaName())) {
			identifier("schema-name", properties.getSchemaName(), builder::schema);
		}
		return builder.build();
	}

	@Bean
	StoreCallBound fencedLeadershipStoreCallBound(JdbcDatabase database) {
		return new StoreCallBound(database.getConnectionTimeout().plus(database.getQueryTimeout()));
	}

	@Bean
	@ConditionalOnMissingBean(LeaseStore.class)
	JdbcLeaseStore leaseStore(JdbcDatabase database, FencedLeadershipSettings settings) {
		return new JdbcLeaseStore(database, settings.namespace());
	}

	@Bean
	@ConditionalOnMissingBean(ReleaseNotifications.class)
	@ConditionalOnBooleanProperty(name = "fenced-leadership.jdbc.release-notifications", matchIfMissing = true)
	JdbcReleaseNotifications releaseNotifications(JdbcDatabase database, FencedLeadershipSettings settings) {
		return new JdbcReleaseNotifications(database, settings.namespace());
	}

	@Bean
	@ConditionalOnMissingBean(NodeRegistry.class)
	JdbcNodeRegistry nodeRegistry(JdbcDatabase database, FencedLeadershipSettings settings) {
		return new JdbcNodeRegistry(database, settings.namespace(), settings.livenessTtl(), settings.retention());
	}

	/**
	 * Depends on the database, which refuses illegal names of tables before a script is
	 * run with them.
	 */
	@Bean
	@ConditionalOnMissingBean
	@Conditional(OnFencedLeadershipDatabaseInitializationCondition.class)
	FencedLeadershipDataSourceScriptDatabaseInitializer fencedLeadershipDataSourceScriptDatabaseInitializer(
			JdbcDatabase database, ObjectProvider<DataSource> dataSource,
			@FencedLeadershipDataSource ObjectProvider<DataSource> qualifiedDataSource,
			FencedLeadershipJdbcProperties properties, ListableBeanFactory beanFactory) {
		return new FencedLeadershipDataSourceScriptDatabaseInitializer(
				select(dataSource, qualifiedDataSource, beanFactory), properties);
	}

	@Bean
	@Lazy(false)
	JdbcSchemaCheck fencedLeadershipJdbcSchemaCheck(JdbcDatabase database, ObjectProvider<JdbcLeaseStore> leaseStore,
			ObjectProvider<JdbcNodeRegistry> nodeRegistry) {
		return new JdbcSchemaCheck(database, leaseStore, nodeRegistry);
	}

	private static DataSource select(ObjectProvider<DataSource> dataSource,
			ObjectProvider<DataSource> qualifiedDataSource, ListableBeanFactory beanFactory) {
		try {
			DataSource qualified = qualifiedDataSource.getIfAvailable();
			return (qualified != null) ? qualified : dataSource.getObject();
		}
		catch (NoUniqueBeanDefinitionException ex) {
			throw new NoUniqueDataSourceException(List
				.of(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beanFactory, DataSource.class, true, false)));
		}
	}

	private static Duration timeout(@Nullable Duration configured, Duration derived, String property) {
		Duration timeout = (configured != null) ? configured : derived;
		if (timeout.isNegative() || timeout.isZero()) {
			throw new InvalidFencedLeadershipPropertyException(PREFIX + property, timeout, "must be positive",
					"Set it to a positive duration, or not at all");
		}
		return timeout;
	}

	/**
	 * A renewal that is sent a renew interval after the last one and takes as long as it
	 * may must still be confirmed before the leader gives up.
	 */
	private static void requireFits(Duration connectionTimeout, Duration queryTimeout,
			FencedLeadershipJdbcProperties properties, FencedLeadershipSettings settings) {
		Map<String, RoleSettings> all = new LinkedHashMap<>();
		all.put("all roles without settings of their own", settings.defaults());
		settings.roles().forEach((role, roleSettings) -> all.put("role '%s'".formatted(role), roleSettings));
		all.forEach((whose, roleSettings) -> {
			Duration available = roleSettings.leaseTtl()
				.minus(roleSettings.safetyMargin())
				.minus(roleSettings.renewInterval());
			Duration needed = connectionTimeout.plus(queryTimeout);
			if (needed.compareTo(available) > 0) {
				boolean query = properties.getConnectionTimeout() == null
						|| (properties.getQueryTimeout() != null && queryTimeout.compareTo(connectionTimeout) > 0);
				throw new InvalidFencedLeadershipPropertyException(
						PREFIX + (query ? "query-timeout" : "connection-timeout"),
						query ? queryTimeout : connectionTimeout,
						"does not fit: waiting '%s' for a connection and '%s' for an answer may take longer than the '%s' that the lease TTL '%s' of %s leaves after the renew interval '%s' and the safety margin '%s'"
							.formatted(connectionTimeout, queryTimeout, available, roleSettings.leaseTtl(), whose,
									roleSettings.renewInterval(), roleSettings.safetyMargin()),
						"Lower '%1$sconnection-timeout' or '%1$squery-timeout', or raise 'fenced-leadership.lease-ttl'"
							.formatted(PREFIX));
			}
		});
	}

	private static void identifier(String property, @Nullable String value, Consumer<String> setter) {
		String name = (value != null) ? value : "";
		try {
			setter.accept(name);
		}
		catch (IllegalArgumentException ex) {
			throw new InvalidFencedLeadershipPropertyException(PREFIX + property, name,
					"is not a plain identifier: " + ex.getMessage(), "Use a name without quotes, dots and spaces");
		}
	}

	static class OnFencedLeadershipDatabaseInitializationCondition extends OnDatabaseInitializationCondition {

		OnFencedLeadershipDatabaseInitializationCondition() {
			super("Fenced leadership", "fenced-leadership.jdbc.initialize-schema");
		}

	}

}
