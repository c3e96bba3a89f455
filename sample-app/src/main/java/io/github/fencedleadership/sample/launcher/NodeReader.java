package io.github.fencedleadership.sample.launcher;

import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Role;

/**
 * Asks nodes, by their endpoints. None of the answers takes longer than the bound.
 * <p>
 * Thread-safe.
 */
final class NodeReader {

	private static final Duration BOUND = Duration.ofMillis(1500);

	private final HttpClient httpClient = HttpClient.newBuilder()
		.version(HttpClient.Version.HTTP_1_1)
		.connectTimeout(BOUND)
		.build();

	private final JsonMapper jsonMapper = JsonMapper.builder().build();

	/**
	 * Ask a node what it knows.
	 * @param node the node
	 * @return what it knows, {@code null} if it does not answer
	 */
	CompletableFuture<@Nullable Answer> read(ClusterNode node) {
		CompletableFuture<JsonNode> leadership = get(node, "/actuator/leadership");
		CompletableFuture<JsonNode> members = get(node, "/actuator/nodes");
		return leadership.thenCombine(members, NodeReader::answer).exceptionally((ex) -> null);
	}

	private CompletableFuture<JsonNode> get(ClusterNode node, String path) {
		HttpRequest request = HttpRequest.newBuilder(node.uri(path)).timeout(BOUND).build();
		return this.httpClient.sendAsync(request, BodyHandlers.ofString()).thenApply((response) -> {
			if (response.statusCode() != 200) {
				throw new IllegalStateException("Status %d".formatted(response.statusCode()));
			}
			return this.jsonMapper.readTree(response.body());
		});
	}

	private static Answer answer(JsonNode leadership, JsonNode members) {
		List<Role> roles = new ArrayList<>();
		Map<String, String> states = new TreeMap<>();
		for (JsonNode role : leadership.path("roles")) {
			String name = role.path("role").asString();
			if (role.hasNonNull("state")) {
				states.put(name, role.path("state").asString());
			}
			if (role.hasNonNull("expiresAt")) {
				roles.add(new Role(name, role.path("leader").path("name").asString(null),
						role.path("fencingToken").asLong(), Instant.parse(role.path("acquiredAt").asString()),
						Duration.between(Instant.parse(role.path("renewedAt").asString()),
								Instant.parse(role.path("expiresAt").asString())),
						Duration.parse(role.path("remaining").asString())));
			}
		}
		Map<String, Instant> heartbeats = new TreeMap<>();
		for (JsonNode node : members.path("nodes")) {
			if (node.hasNonNull("lastHeartbeat")) {
				// Of two incarnations, the one that was heard of last
				heartbeats.merge(node.path("name").asString(), Instant.parse(node.path("lastHeartbeat").asString()),
						(one, other) -> one.isAfter(other) ? one : other);
			}
		}
		return new Answer(states, roles, heartbeats);
	}

	/**
	 * Ask a node for something to be done to a role.
	 * @param node the node
	 * @param role the name of the role
	 * @param action what is to be done
	 * @throws IOException if the node does not answer, or does not do it
	 * @throws InterruptedException if the calling thread was interrupted
	 */
	void ask(ClusterNode node, String role, String action) throws IOException, InterruptedException {
		HttpRequest request = HttpRequest.newBuilder(node.uri("/actuator/leadership/" + role))
			.header("Content-Type", "application/json")
			.timeout(BOUND)
			.POST(BodyPublishers.ofString(this.jsonMapper.writeValueAsString(Map.of("action", action))))
			.build();
		HttpResponse<String> response = this.httpClient.send(request, BodyHandlers.ofString());
		if (response.statusCode() / 100 != 2) {
			throw new IOException("%s answered with status %d".formatted(node.name(), response.statusCode()));
		}
	}

	/**
	 * Return the name of a node.
	 * @param id its id, which has the incarnation after the name
	 * @return the name
	 */
	static String nameOf(String id) {
		int end = id.lastIndexOf('#');
		return (end >= 0) ? id.substring(0, end) : id;
	}

	/**
	 * What a node knows.
	 *
	 * @param states what it is to each role
	 * @param roles the roles, none if the database does not answer it
	 * @param heartbeats the last signs of life of the live nodes, by their names
	 */
	record Answer(Map<String, String> states, List<Role> roles, Map<String, Instant> heartbeats) {

	}

}
