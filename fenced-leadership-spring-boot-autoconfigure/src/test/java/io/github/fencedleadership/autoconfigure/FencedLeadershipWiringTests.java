package io.github.fencedleadership.autoconfigure;

import java.time.Duration;
import java.util.UUID;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import io.github.fencedleadership.annotation.FencedLeader;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.RoleStatus;
import io.github.fencedleadership.lease.LeaseStore;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the auto-configurations of the core and of JDBC together, as an application
 * has them.
 */
class FencedLeadershipWiringTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class,
				FencedLeadershipAutoConfiguration.class, FencedLeadershipJdbcAutoConfiguration.class))
		.withUserConfiguration(GateConfiguration.class)
		.withPropertyValues("spring.datasource.url=jdbc:h2:mem:" + UUID.randomUUID());

	@Test
	void leadsARoleInTheDatabaseWithoutAnyConfiguration() {
		this.contextRunner.run((context) -> {
			LeaderElector elector = context.getBean(LeaderElector.class);
			Awaitility.await()
				.atMost(Duration.ofSeconds(60))
				.until(() -> elector.status("reports").orElseThrow().state() == RoleStatus.State.LEADING);
			assertThat(context.getBean(LeaseStore.class).find("reports"))
				.hasValueSatisfying((lease) -> assertThat(lease.ownerId()).isEqualTo(elector.ownerId()));
			assertThat(context.getBean(Gate.class).call()).isEqualTo("called");
		});
	}

	@Test
	void aLeaseTtlOfAnAnnotationThatLeavesNoTimeForACallOfTheStoreFails() {
		this.contextRunner.withPropertyValues("test.lease-ttl=3s")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageContaining("'PT3S'")
				.hasMessageContaining("'PT5S'")
				.hasMessageContaining("lower 'fenced-leadership.jdbc.connection-timeout'"));
	}

	@Test
	void aLeaseTtlOfAnAnnotationThatLeavesTimeForACallOfTheStoreIsAccepted() {
		this.contextRunner
			.withPropertyValues("test.lease-ttl=3s", "fenced-leadership.jdbc.connection-timeout=500ms",
					"fenced-leadership.jdbc.query-timeout=500ms")
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Configuration(proxyBeanMethods = false)
	static class GateConfiguration {

		@Bean
		Gate gate() {
			return new Gate();
		}

	}

	static class Gate {

		@FencedLeader(role = "reports", mode = FencedLeader.Mode.GATE, leaseTtl = "${test.lease-ttl:}")
		public String call() {
			return "called";
		}

	}

}
