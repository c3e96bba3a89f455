package io.github.fencedleadership.autoconfigure;

import java.time.Duration;
import java.util.OptionalLong;

import javax.sql.DataSource;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.init.DatabaseInitializationProperties;
import org.springframework.boot.sql.init.dependency.DatabaseInitializationDependencyConfigurer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.util.StringUtils;

import io.github.fencedleadership.autoconfigure.FencedLeadershipJdbcAutoConfiguration.OnFencedLeadershipDatabaseInitializationCondition;
import io.github.fencedleadership.fencing.FencingGuard;
import io.github.fencedleadership.fencing.InMemoryFencingGuard;
import io.github.fencedleadership.jdbc.JdbcDatabase;
import io.github.fencedleadership.jdbc.JdbcFencingGuard;
import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.Lease;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for the {@link FencingGuard}: in the
 * database of the application's single or primary DataSource, which is the one that is
 * written to, be the leases there or not. Independent of
 * {@code fenced-leadership.enabled}, since an application that never leads may still be
 * called by one that does.
 */
@AutoConfiguration(after = { DataSourceAutoConfiguration.class, FencedLeadershipAutoConfiguration.class,
		FencedLeadershipJdbcAutoConfiguration.class })
public final class FencedLeadershipFencingAutoConfiguration {

	private static final String IDLE_TIMEOUT = "fenced-leadership.fencing.idle-timeout";

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass({ DelegatingDataSource.class, DatabaseInitializationProperties.class })
	@Conditional(OnJdbcStoreCondition.class)
	@ConditionalOnSingleCandidate(DataSource.class)
	@EnableConfigurationProperties({ FencedLeadershipFencingProperties.class, FencedLeadershipJdbcProperties.class })
	@Import(DatabaseInitializationDependencyConfigurer.class)
	static class JdbcGuardConfiguration {

		@Bean(destroyMethod = "close")
		@ConditionalOnMissingBean(FencingGuard.class)
		JdbcFencingGuard fencingGuard(DataSource dataSource, FencedLeadershipSettings settings,
				FencedLeadershipFencingProperties properties, FencedLeadershipJdbcProperties jdbcProperties) {
			Duration leaseTtl = settings.defaults().leaseTtl();
			Duration idleTimeout = (properties.getIdleTimeout() != null) ? properties.getIdleTimeout() : leaseTtl;
			Duration call = (jdbcProperties.getQueryTimeout() != null) ? jdbcProperties.getQueryTimeout()
					: settings.defaults().renewInterval().dividedBy(4);
			try {
				return new JdbcFencingGuard(database(dataSource, jdbcProperties, idleTimeout, leaseTtl, call),
						dataSource, settings.namespace(), idleTimeout);
			}
			catch (IllegalArgumentException ex) {
				throw new InvalidFencedLeadershipPropertyException(IDLE_TIMEOUT, idleTimeout,
						"cannot be the idle bound of a transaction: " + ex.getMessage(),
						"Set it to a duration of that kind, to zero to switch it off, or not at all for the lease TTL");
			}
		}

		/**
		 * Not the database of the leases: it may be another one, and its calls are
		 * shorter. The first check of a term waits for writers of older ones, and those
		 * may be idle for so long.
		 */
		private static JdbcDatabase database(DataSource dataSource, FencedLeadershipJdbcProperties properties,
				Duration idleTimeout, Duration leaseTtl, Duration call) {
			Duration wait = (idleTimeout.isZero() || idleTimeout.isNegative()) ? leaseTtl : idleTimeout;
			JdbcDatabase.Builder builder = JdbcDatabase.builder(dataSource)
				.queryTimeout(wait.plus(call))
				.tablePrefix(properties.getTablePrefix())
				.askOnCallersThread(JdbcDatabase.isRouted(dataSource));
			if (properties.getConnectionTimeout() != null) {
				builder.connectionTimeout(properties.getConnectionTimeout());
			}
			if (StringUtils.hasText(properties.getSchemaName())) {
				builder.schema(properties.getSchemaName());
			}
			return builder.build();
		}

		@Bean
		@ConditionalOnMissingBean
		@ConditionalOnBean(JdbcFencingGuard.class)
		@Conditional(OnFencedLeadershipDatabaseInitializationCondition.class)
		FencedResourceDataSourceScriptDatabaseInitializer fencedResourceDataSourceScriptDatabaseInitializer(
				DataSource dataSource, FencedLeadershipFencingProperties properties,
				FencedLeadershipJdbcProperties jdbcProperties) {
			return new FencedResourceDataSourceScriptDatabaseInitializer(dataSource, jdbcProperties,
					properties.getSchema());
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnProperty(name = "fenced-leadership.store", havingValue = "memory")
	static class MemoryGuardConfiguration {

		/**
		 * Where nobody contends, there are no leases to look at.
		 */
		@Bean
		@ConditionalOnMissingBean(FencingGuard.class)
		InMemoryFencingGuard fencingGuard(ObjectProvider<InMemoryLeaseStore> leaseStore) {
			InMemoryLeaseStore leases = leaseStore.getIfAvailable();
			return (leases == null) ? new InMemoryFencingGuard()
					: new InMemoryFencingGuard((role) -> leases.find(role)
						.map(Lease::fencingToken)
						.map(OptionalLong::of)
						.orElseGet(OptionalLong::empty));
		}

	}

}
