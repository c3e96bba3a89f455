package io.github.fencedleadership.sample.launcher;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import com.sun.net.httpserver.HttpServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Role;
import io.github.fencedleadership.sample.launcher.NodeReader.Answer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

/**
 * Tests for {@link NodeReader}.
 */
class NodeReaderTests {

	private static final String LEADERSHIP = """
			{ "roles": [ {
				"role": "ledger", "state": "STANDBY", "leader": { "id": "node-3#0cc7", "name": "node-3" },
				"fencingToken": 2, "acquiredAt": "2026-12-01T06:30:29Z", "renewedAt": "2026-12-01T06:30:35Z",
				"expiresAt": "2026-12-01T06:30:41Z", "remaining": "PT4.5S"
			}, {
				"role": "unknown-to-the-store", "state": "BACKING_OFF", "leading": false
			} ] }
			""";

	private static final String NODES = """
			{ "nodes": [
				{ "id": "node-3#0001", "name": "node-3", "lastHeartbeat": "2026-12-01T06:30:20Z" },
				{ "id": "node-3#0cc7", "name": "node-3", "lastHeartbeat": "2026-12-01T06:30:40Z" }
			] }
			""";

	private final NodeReader reader = new NodeReader();

	private HttpServer server;

	@AfterEach
	void stop() {
		if (this.server != null) {
			this.server.stop(0);
		}
	}

	@Test
	void readsWhatANodeKnows() throws Exception {
		Answer answer = read(serve(200, LEADERSHIP, NODES));
		assertThat(answer.states()).isEqualTo(Map.of("ledger", "STANDBY", "unknown-to-the-store", "BACKING_OFF"));
		assertThat(answer.roles()).containsExactly(new Role("ledger", "node-3", 2,
				Instant.parse("2026-12-01T06:30:29Z"), Duration.ofSeconds(6), Duration.ofMillis(4500)));
		assertThat(answer.heartbeats()).isEqualTo(Map.of("node-3", Instant.parse("2026-12-01T06:30:40Z")));
	}

	@Test
	void nodeThatSaysSomethingElseDoesNotAnswer() throws Exception {
		assertThat(read(serve(200, "<html>", NODES))).isNull();
		stop();
		assertThat(read(serve(503, LEADERSHIP, NODES))).isNull();
		stop();
		assertThat(read(serve(200, LEADERSHIP.replace("PT4.5S", "soon"), NODES))).isNull();
	}

	@Test
	void nodeThatIsNotThereDoesNotAnswer() throws Exception {
		assertThat(read(FreePorts.find(1).get(0))).isNull();
	}

	@Test
	void nodeThatHangsHoldsNobodyUp() throws Exception {
		try (ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
			// The system accepts the connection, as it does for a frozen process
			assertThat(read(socket.getLocalPort())).isNull();
		}
	}

	@Test
	void asksForSomethingToBeDone() throws Exception {
		CompletableFuture<String> asked = new CompletableFuture<>();
		int port = serve(204, asked);
		this.reader.ask(node(port), "ledger", "step-down");
		assertThat(asked).isCompletedWithValue("POST {\"action\":\"step-down\"}");
	}

	@Test
	void tellsThatNothingWasDone() throws Exception {
		int port = serve(405, new CompletableFuture<>());
		assertThatIOException().isThrownBy(() -> this.reader.ask(node(port), "ledger", "step-down"))
			.withMessage("node-1 answered with status 405");
	}

	private Answer read(int port) throws Exception {
		return this.reader.read(node(port)).get(60, TimeUnit.SECONDS);
	}

	private static ClusterNode node(int port) {
		return new ClusterNode(new Cluster(BareNode.class, System.out::println), "node-1", port, List.of());
	}

	private int serve(int status, String leadership, String nodes) throws IOException {
		listen();
		serve("/actuator/leadership", status, leadership);
		serve("/actuator/nodes", status, nodes);
		return this.server.getAddress().getPort();
	}

	private int serve(int status, CompletableFuture<String> asked) throws IOException {
		listen();
		this.server.createContext("/actuator/leadership/ledger", (exchange) -> {
			String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
			asked.complete(exchange.getRequestMethod() + " " + body);
			exchange.sendResponseHeaders(status, -1);
			exchange.close();
		});
		return this.server.getAddress().getPort();
	}

	private void listen() throws IOException {
		this.server = HttpServer.create(new InetSocketAddress(0), 0);
		this.server.start();
	}

	private void serve(String path, int status, String content) {
		this.server.createContext(path, (exchange) -> {
			byte[] body = content.getBytes(StandardCharsets.UTF_8);
			exchange.sendResponseHeaders(status, body.length);
			try (OutputStream output = exchange.getResponseBody()) {
				output.write(body);
			}
		});
	}

}
