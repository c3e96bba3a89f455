package io.github.fencedleadership.autoconfigure;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

import io.github.fencedleadership.actuate.LeadershipEndpoint;
import io.github.fencedleadership.actuate.NodesEndpoint;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.membership.NodeRegistry;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for the endpoints of fenced
 * leadership.
 */
@AutoConfiguration(after = FencedLeadershipAutoConfiguration.class)
@ConditionalOnClass({ Endpoint.class, ConditionalOnAvailableEndpoint.class })
@ConditionalOnBean(LeaderElector.class)
public final class FencedLeadershipEndpointAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnAvailableEndpoint
	LeadershipEndpoint leadershipEndpoint(FencedLeadershipSettings settings, LeaderElector elector,
			ObjectProvider<LeaseStore> leaseStore) {
		return new LeadershipEndpoint(settings.namespace(), elector, leaseStore.getIfAvailable());
	}

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnAvailableEndpoint
	NodesEndpoint nodesEndpoint(FencedLeadershipSettings settings, LeaderElector elector,
			ObjectProvider<NodeRegistry> nodeRegistry, ObjectProvider<LeaseStore> leaseStore) {
		return new NodesEndpoint(settings.namespace(), elector, nodeRegistry.getIfAvailable(),
				leaseStore.getIfAvailable());
	}

}
