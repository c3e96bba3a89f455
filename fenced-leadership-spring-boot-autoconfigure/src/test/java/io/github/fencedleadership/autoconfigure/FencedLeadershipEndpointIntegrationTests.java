package io.github.fencedleadership.autoconfigure;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.time.Instant;

import com.jayway.jsonpath.DocumentContext;
import com.jayway.jsonpath.JsonPath;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import io.github.fencedleadership.annotation.FencedLeader;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.RoleStatus.State;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.membership.NodeRegistry;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of the endpoints over HTTP.
 */
class FencedLeadershipEndpointIntegrationTests {

	private static final Duration PATIENCE = Duration.ofSeconds(60);

	private static ConfigurableApplicationContext context;

	private final HttpClient client = HttpClient.newHttpClient();

	@BeforeAll
	static void start() {
		context = new SpringApplicationBuilder(Application.class).registerShutdownHook(false)
			.run("--server.port=0", "--spring.application.name=orders", "--spring.application.version=1.2.3",
					"--fenced-leadership.store=memory", "--fenced-leadership.owner-id=node-a",
					"--management.endpoints.web.exposure.include=leadership,nodes");
		LeaderElector elector = context.getBean(LeaderElector.class);
		NodeRegistry registry = context.getBean(NodeRegistry.class);
		context.getBean(LeaseStore.class).tryAcquireOrRenew("elsewhere", "node-b#1", Duration.ofHours(1));
		Awaitility.await()
			.atMost(PATIENCE)
			.until(() -> elector.status("reports").orElseThrow().state() == State.LEADING
					&& registry.liveNodes().size() == 1);
	}

	@AfterAll
	static void stop() {
		context.close();
	}

	@Test
	void leadershipShowsAllRoles() throws Exception {
		HttpResponse<String> response = get("/actuator/leadership");
		assertThat(response.statusCode()).isEqualTo(200);
		JsonPaths json = new JsonPaths(response.body());
		assertThat(json.at("$.namespace")).isEqualTo("orders");
		assertThat(json.at("$.node.name")).isEqualTo("node-a");
		assertThat(json.at("$.roles[0].role")).isEqualTo("elsewhere");
		assertThat(json.at("$.roles[0].leader.id")).isEqualTo("node-b#1");
		assertThat(json.at("$.roles[0].leading")).isEqualTo(false);
		assertThat(json.at("$.roles[1].role")).isEqualTo("reports");
		assertThat(json.at("$.roles[1].state")).isEqualTo("LEADING");
		assertThat(json.at("$.roles[1].leader.name")).isEqualTo("node-a");
		assertThat(json.at("$.roles[1].leading")).isEqualTo(true);
		assertThat(json.at("$.roles[1].fencingToken")).isEqualTo(1);
		assertThat(response.body()).doesNotContain("\"error\"");
	}

	@Test
	void instantsAreInIso8601AndUtc() throws Exception {
		JsonPaths json = new JsonPaths(get("/actuator/leadership/reports").body());
		for (String path : new String[] { "$.since", "$.acquiredAt", "$.renewedAt", "$.expiresAt" }) {
			assertThat(json.at(path)).asString()
				.endsWith("Z")
				.satisfies((text) -> assertThat(Instant.parse(text)).isBetween(Instant.now().minusSeconds(600),
						Instant.now().plusSeconds(600)));
		}
		assertThat(json.at("$.remaining")).asString()
			.satisfies((text) -> assertThat(Duration.parse(text)).isPositive());
	}

	@Test
	void unknownRoleIsNotFound() throws Exception {
		assertThat(get("/actuator/leadership/unknown").statusCode()).isEqualTo(404);
		assertThat(get("/actuator/leadership/not%20a%20role").statusCode()).isEqualTo(404);
	}

	@Test
	void nodesShowsThisNode() throws Exception {
		JsonPaths json = new JsonPaths(get("/actuator/nodes").body());
		assertThat(json.at("$.namespace")).isEqualTo("orders");
		assertThat(json.at("$.nodes.length()")).isEqualTo(1);
		assertThat(json.at("$.nodes[0].name")).isEqualTo("node-a");
		assertThat(json.at("$.nodes[0].id")).asString().startsWith("node-a#");
		assertThat(json.at("$.nodes[0].self")).isEqualTo(true);
		assertThat(json.at("$.nodes[0].version")).isEqualTo("1.2.3");
		assertThat(json.at("$.nodes[0].pid")).isEqualTo((int) ProcessHandle.current().pid());
		assertThat(json.at("$.nodes[0].host")).asString().isNotBlank();
		assertThat(json.at("$.nodes[0].roles[0]")).isEqualTo("reports");
		assertThat(json.at("$.nodes[0].startedAt")).asString()
			.satisfies((text) -> assertThat(Instant.parse(text)).isBefore(Instant.now()));
	}

	@Test
	void writingIsNotAllowed() throws Exception {
		HttpRequest request = HttpRequest.newBuilder(uri("/actuator/leadership"))
			.POST(HttpRequest.BodyPublishers.noBody())
			.build();
		assertThat(this.client.send(request, BodyHandlers.ofString()).statusCode()).isEqualTo(405);
	}

	private HttpResponse<String> get(String path) throws IOException, InterruptedException {
		return this.client.send(HttpRequest.newBuilder(uri(path)).build(), BodyHandlers.ofString());
	}

	private static URI uri(String path) {
		int port = ((ServletWebServerApplicationContext) context).getWebServer().getPort();
		return URI.create("http://localhost:%d%s".formatted(port, path));
	}

	private static final class JsonPaths {

		private final DocumentContext document;

		JsonPaths(String json) {
			this.document = JsonPath.parse(json);
		}

		Object at(String path) {
			return this.document.read(path);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration(exclude = DataSourceAutoConfiguration.class)
	static class Application {

		@Bean
		Worker worker() {
			return new Worker();
		}

	}

	static class Worker {

		@FencedLeader("reports")
		void work() {
		}

	}

}
