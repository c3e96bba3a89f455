package io.github.fencedleadership.autoconfigure;

import java.time.Instant;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.info.BuildProperties;
import org.springframework.boot.thread.Threading;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.core.task.VirtualThreadTaskExecutor;

import io.github.fencedleadership.election.DefaultLeaderElector;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.LeadershipListener;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.lease.ReleaseNotifications;
import io.github.fencedleadership.membership.Node;
import io.github.fencedleadership.membership.NodeRegistry;

/**
 * The elector and its lifecycle.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnBooleanProperty(name = "fenced-leadership.enabled", matchIfMissing = true)
@ConditionalOnMissingBean(LeaderElector.class)
class LeaderElectorConfiguration {

	@Bean
	DefaultLeaderElector leaderElector(FencedLeadershipProperties properties, FencedLeadershipSettings settings,
			ObjectProvider<LeaseStore> leaseStore, ObjectProvider<NodeRegistry> nodeRegistry,
			ObjectProvider<ReleaseNotifications> releaseNotifications, ObjectProvider<LeadershipListener> listeners,
			ObjectProvider<LeaderElectorBuilderCustomizer> customizers, ObjectProvider<BuildProperties> buildProperties,
			ApplicationContext applicationContext) {
		LeaseStore store = leaseStore.getIfAvailable(() -> {
			throw new NoLeaseStoreException(properties.getStore());
		});
		Environment environment = applicationContext.getEnvironment();
		DefaultLeaderElector.Builder builder = DefaultLeaderElector.builder(store)
			.ownerName(settings.ownerName())
			.settings(settings.defaults())
			.roleSettings(settings.roles())
			.heartbeatInterval(settings.heartbeatInterval())
			.drainTimeout(settings.drainTimeout());
		String host = HostName.get();
		String version = version(environment, buildProperties.getIfAvailable());
		nodeRegistry.ifAvailable((registry) -> builder.nodeRegistry(registry).node((id) -> {
			Instant startedAt = Instant.ofEpochMilli(applicationContext.getStartupDate());
			return new Node(id, host, ProcessHandle.current().pid(), version, startedAt, startedAt);
		}));
		if (Threading.VIRTUAL.isActive(environment)) {
			builder.workThreads(new VirtualThreadTaskExecutor("fenced-leadership-work-").getVirtualThreadFactory());
		}
		releaseNotifications.ifAvailable(builder::releaseNotifications);
		listeners.orderedStream().forEach(builder::listener);
		customizers.orderedStream().forEach((customizer) -> customizer.customize(builder));
		return builder.build();
	}

	private static @Nullable String version(Environment environment, @Nullable BuildProperties buildProperties) {
		String version = environment.getProperty("spring.application.version");
		return (version == null && buildProperties != null) ? buildProperties.getVersion() : version;
	}

	@Bean
	RenewalLifecycle fencedLeadershipRenewalLifecycle(DefaultLeaderElector elector) {
		return new RenewalLifecycle(elector);
	}

	@Bean
	ContentionLifecycle fencedLeadershipContentionLifecycle(DefaultLeaderElector elector,
			FencedLeadershipSettings settings) {
		return new ContentionLifecycle(elector, settings.roles().keySet());
	}

}
