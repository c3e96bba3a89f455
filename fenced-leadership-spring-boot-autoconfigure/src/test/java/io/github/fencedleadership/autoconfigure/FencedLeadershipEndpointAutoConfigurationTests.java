package io.github.fencedleadership.autoconfigure;

import org.junit.jupiter.api.Test;

import org.springframework.boot.actuate.autoconfigure.endpoint.EndpointAutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import io.github.fencedleadership.actuate.LeadershipEndpoint;
import io.github.fencedleadership.actuate.NodesEndpoint;
import io.github.fencedleadership.annotation.FakeLeaderElector;
import io.github.fencedleadership.election.LeaderElector;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link FencedLeadershipEndpointAutoConfiguration}.
 */
class FencedLeadershipEndpointAutoConfigurationTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(FencedLeadershipAutoConfiguration.class,
				FencedLeadershipEndpointAutoConfiguration.class, EndpointAutoConfiguration.class))
		.withPropertyValues("fenced-leadership.store=memory");

	private final ApplicationContextRunner exposed = this.contextRunner
		.withPropertyValues("management.endpoints.web.exposure.include=leadership,nodes");

	@Test
	void endpointsAreThereWhenExposed() {
		this.exposed.run((context) -> assertThat(context).hasSingleBean(LeadershipEndpoint.class)
			.hasSingleBean(NodesEndpoint.class));
	}

	@Test
	void endpointsAreAbsentWhenNotExposed() {
		this.contextRunner.run((context) -> assertThat(context).hasNotFailed()
			.doesNotHaveBean(LeadershipEndpoint.class)
			.doesNotHaveBean(NodesEndpoint.class));
	}

	@Test
	void endpointIsAbsentWithoutAccess() {
		this.exposed.withPropertyValues("management.endpoint.nodes.access=none")
			.withInitializer(
					(context) -> context.getEnvironment().setConversionService(new ApplicationConversionService()))
			.run((context) -> assertThat(context).hasSingleBean(LeadershipEndpoint.class)
				.doesNotHaveBean(NodesEndpoint.class));
	}

	@Test
	void endpointsAreAbsentWithoutActuator() {
		new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(FencedLeadershipAutoConfiguration.class,
					FencedLeadershipEndpointAutoConfiguration.class))
			.withPropertyValues("fenced-leadership.store=memory", "management.endpoints.web.exposure.include=*")
			.withClassLoader(new FilteredClassLoader("org.springframework.boot.actuate"))
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(LeaderElector.class)
				.doesNotHaveBean("leadershipEndpoint")
				.doesNotHaveBean("nodesEndpoint"));
	}

	@Test
	void endpointsOfTheUserWin() {
		this.exposed.withUserConfiguration(UserEndpoints.class)
			.run((context) -> assertThat(context).hasSingleBean(LeadershipEndpoint.class)
				.hasBean("userLeadershipEndpoint")
				.hasSingleBean(NodesEndpoint.class)
				.hasBean("userNodesEndpoint"));
	}

	@Test
	void endpointsAnswerWhenLeadershipIsDisabled() {
		this.exposed.withPropertyValues("fenced-leadership.enabled=false", "fenced-leadership.namespace=orders")
			.run((context) -> {
				assertThat(context.getBean(LeadershipEndpoint.class).leadership()).satisfies((leadership) -> {
					assertThat(leadership.namespace()).isEqualTo("orders");
					assertThat(leadership.node()).isNull();
					assertThat(leadership.error()).isNull();
				});
				assertThat(context.getBean(NodesEndpoint.class).nodes().nodes()).isEmpty();
			});
	}

	@Configuration(proxyBeanMethods = false)
	static class UserEndpoints {

		@Bean
		LeadershipEndpoint userLeadershipEndpoint() {
			return new LeadershipEndpoint("mine", new FakeLeaderElector(), null);
		}

		@Bean
		NodesEndpoint userNodesEndpoint() {
			return new NodesEndpoint("mine", new FakeLeaderElector(), null, null);
		}

	}

}
