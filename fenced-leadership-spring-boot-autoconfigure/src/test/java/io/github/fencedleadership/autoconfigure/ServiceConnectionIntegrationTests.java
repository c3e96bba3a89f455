package io.github.fencedleadership.autoconfigure;

import java.time.Duration;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.postgresql.PostgreSQLContainer;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.testcontainers.service.connection.ServiceConnection;
import org.springframework.boot.testcontainers.service.connection.ServiceConnectionAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.RoleStatus;

/**
 * Test that an application whose database is a service connection is led from it. Runs
 * only where Docker is at hand.
 */
@SpringBootTest(webEnvironment = WebEnvironment.NONE, properties = "fenced-leadership.jdbc.initialize-schema=always")
@EnabledIf("isDockerAvailable")
class ServiceConnectionIntegrationTests {

	@Test
	void leadsARoleInTheContainer(@Autowired LeaderElector elector) {
		elector.register(LeaderTask.holding("reports"));
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.until(() -> elector.status("reports").orElseThrow().state() == RoleStatus.State.LEADING);
	}

	static boolean isDockerAvailable() {
		boolean available = DockerClientFactory.instance().isDockerAvailable();
		if (!available) {
			System.out.println("[test databases] no Docker here, the tests of service connections are skipped");
		}
		return available;
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ ServiceConnectionAutoConfiguration.class, DataSourceAutoConfiguration.class,
			FencedLeadershipAutoConfiguration.class, FencedLeadershipJdbcAutoConfiguration.class })
	static class Application {

		@Bean
		@ServiceConnection
		PostgreSQLContainer postgresContainer() {
			return new PostgreSQLContainer("postgres:17-alpine");
		}

	}

}
