package io.github.fencedleadership.autoconfigure;

import java.time.InstantSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;

import io.github.fencedleadership.annotation.FencedLeader;
import io.github.fencedleadership.annotation.FencedLeaderConfiguration;
import io.github.fencedleadership.annotation.FencedWrite;
import io.github.fencedleadership.annotation.FencedWriteConfiguration;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.membership.InMemoryNodeRegistry;
import io.github.fencedleadership.membership.NodeRegistry;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for fenced leadership: settings,
 * elector, {@link FencedLeader @FencedLeader} and {@link FencedWrite @FencedWrite}, and
 * the in-memory stores.
 */
@AutoConfiguration
@EnableConfigurationProperties(FencedLeadershipProperties.class)
@Import({ FencedLeaderConfiguration.class, FencedWriteConfiguration.class, LeaderElectorConfiguration.class })
public final class FencedLeadershipAutoConfiguration {

	@Bean
	FencedLeadershipSettingsResolver fencedLeadershipSettingsResolver(FencedLeadershipProperties properties,
			Environment environment, ObjectProvider<StoreCallBound> storeCallBound) {
		return new FencedLeadershipSettingsResolver(properties, environment, storeCallBound);
	}

	@Bean
	FencedLeadershipSettings fencedLeadershipSettings(FencedLeadershipSettingsResolver resolver) {
		return resolver.resolve();
	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnBooleanProperty(name = "fenced-leadership.enabled", havingValue = false)
	static class DisabledConfiguration {

		@Bean
		@ConditionalOnMissingBean(LeaderElector.class)
		DisabledLeaderElector leaderElector() {
			return new DisabledLeaderElector();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnBooleanProperty(name = "fenced-leadership.enabled", matchIfMissing = true)
	@ConditionalOnProperty(name = "fenced-leadership.store", havingValue = "memory")
	static class MemoryStoreConfiguration {

		private static final Log logger = LogFactory.getLog(FencedLeadershipAutoConfiguration.class);

		private final InstantSource clock = new MonotonicInstantSource();

		@Bean
		@ConditionalOnMissingBean(LeaseStore.class)
		InMemoryLeaseStore leaseStore() {
			logger.warn(
					"Property 'fenced-leadership.store' is 'memory': leaders are elected within this process only, and every process has its own");
			return new InMemoryLeaseStore(this.clock);
		}

		@Bean
		@ConditionalOnMissingBean(NodeRegistry.class)
		InMemoryNodeRegistry nodeRegistry(FencedLeadershipSettings settings) {
			return new InMemoryNodeRegistry(this.clock, settings.livenessTtl());
		}

	}

}
