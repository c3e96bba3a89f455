package io.github.fencedleadership.autoconfigure;

import java.time.Duration;
import java.util.OptionalLong;

import javax.sql.DataSource;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.init.DatabaseInitializationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.util.StringUtils;

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

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass({ DelegatingDataSource.class, DatabaseInitializationProperties.class })
	@Conditional(OnJdbcStoreCondition.class)
	@ConditionalOnSingleCandidate(DataSource.class)
	@EnableConfigurationProperties({ FencedLeadershipFencingProperties.class, FencedLeadershipJdbcProperties.class })
	static class JdbcGuardConfiguration {

		@Bean(destroyMethod = "close")
		@ConditionalOnMissingBean(FencingGuard.class)
		JdbcFencingGuard fencingGuard(DataSource dataSource, FencedLeadershipSettings settings,
				FencedLeadershipFencingProperties properties, FencedLeadershipJdbcProperties jdbcProperties) {
			Duration leaseTtl = settings.defaults().leaseTtl();
			Duration idleTimeout = (properties.getIdleTimeout() != null) ? properties.getIdleTimeout() : leaseTtl;
			if (idleTimeout.isNegative()) {
				throw new InvalidFencedLeadershipPropertyException("fenced-leadership.fencing.idle-timeout",
						idleTimeout, "must not be negative",
						"Set it to a positive duration, or to zero to switch it off");
			}
			Duration call = (jdbcProperties.getQueryTimeout() != null) ? jdbcProperties.getQueryTimeout()
					: settings.defaults().renewInterval().dividedBy(4);
			// The first check of a term waits for writers of older ones, and those may be
			// idle for so long.
			JdbcDatabase.Builder builder = JdbcDatabase.builder(dataSource)
				.queryTimeout((idleTimeout.isZero() ? leaseTtl : idleTimeout).plus(call))
				.tablePrefix(jdbcProperties.getTablePrefix());
			if (jdbcProperties.getConnectionTimeout() != null) {
				builder.connectionTimeout(jdbcProperties.getConnectionTimeout());
			}
			if (StringUtils.hasText(jdbcProperties.getSchemaName())) {
				builder.schema(jdbcProperties.getSchemaName());
			}
			return new JdbcFencingGuard(builder.build(), dataSource, settings.namespace(), idleTimeout);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnBean(InMemoryLeaseStore.class)
	static class MemoryGuardConfiguration {

		@Bean
		@ConditionalOnMissingBean(FencingGuard.class)
		InMemoryFencingGuard fencingGuard(InMemoryLeaseStore leaseStore) {
			return new InMemoryFencingGuard((role) -> leaseStore.find(role)
				.map(Lease::fencingToken)
				.map(OptionalLong::of)
				.orElseGet(OptionalLong::empty));
		}

	}

}
