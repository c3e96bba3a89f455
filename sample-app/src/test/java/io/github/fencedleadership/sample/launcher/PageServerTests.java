package io.github.fencedleadership.sample.launcher;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

/**
 * Tests for {@link PageServer}.
 */
class PageServerTests {

	private final List<String> performed = new CopyOnWriteArrayList<>();

	private PageServer server;

	@BeforeEach
	void start() throws IOException {
		this.server = new PageServer(0, (token) -> "<p>" + token + "</p>", (action, target) -> {
			if (!action.equals("freeze")) {
				return false;
			}
			this.performed.add(action + " " + target);
			return true;
		});
		this.server.start();
	}

	@AfterEach
	void close() {
		this.server.close();
	}

	@Test
	void listensAtTheLoopbackAddressOnly() throws IOException {
		List<InetAddress> others = NetworkInterface.networkInterfaces()
			.flatMap(NetworkInterface::inetAddresses)
			.filter((address) -> !address.isLoopbackAddress())
			.toList();
		for (InetAddress address : others) {
			assertThatIOException().isThrownBy(() -> new Socket(address, this.server.port()).close());
		}
		assertThat(get("/", ownHost())).startsWith("HTTP/1.1 200 ");
	}

	@ParameterizedTest
	@ValueSource(strings = { "localhost", "127.0.0.1", "[::1]" })
	void answersToNamesOfThisMachine(String name) throws IOException {
		assertThat(get("/", name + ":" + this.server.port())).startsWith("HTTP/1.1 200 ").contains("<p>" + token());
	}

	@ParameterizedTest
	@ValueSource(strings = { "evil.example:%d", "localhost", "localhost:1", "localhost.evil.example:%d", "" })
	void answersToNoOtherName(String host) throws IOException {
		String name = host.formatted(this.server.port());
		assertThat(get("/", name)).matches("(?s)HTTP/1.1 (421|400) .*").doesNotContain(token());
		assertThat(post("/act", name, "http://" + name, form(token(), "freeze", "node-1")))
			.matches("(?s)HTTP/1.1 (421|400) .*");
		assertThat(this.performed).isEmpty();
	}

	@Test
	void performsWhatThePageAsksForAndShowsItAgain() throws IOException {
		assertThat(post("/act", ownHost(), ownOrigin(), form(token(), "freeze", "node-1"))).startsWith("HTTP/1.1 303 ")
			.containsIgnoringCase("Location: /\r\n");
		assertThat(this.performed).containsExactly("freeze node-1");
	}

	@ParameterizedTest
	@ValueSource(strings = { "http://evil.example", "null", "https://localhost:%d", "http://127.0.0.1:%d" })
	void performsNothingForAnotherOrigin(String origin) throws IOException {
		assertThat(post("/act", ownHost(), origin.formatted(this.server.port()), form(token(), "freeze", "node-1")))
			.startsWith("HTTP/1.1 403 ");
		assertThat(this.performed).isEmpty();
	}

	@Test
	void performsNothingWithoutAnOrigin() throws IOException {
		String body = form(token(), "freeze", "node-1");
		assertThat(request("POST /act HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
			.formatted(ownHost(), body.length(), body))).startsWith("HTTP/1.1 403 ");
		assertThat(this.performed).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "0123456789abcdefghijkl" })
	void performsNothingWithoutTheTokenOfThisStart(String token) throws IOException {
		assertThat(post("/act", ownHost(), ownOrigin(), form(token, "freeze", "node-1"))).startsWith("HTTP/1.1 403 ");
		assertThat(post("/act", ownHost(), ownOrigin(), "action=freeze&target=node-1")).startsWith("HTTP/1.1 403 ");
		assertThat(this.performed).isEmpty();
	}

	@Test
	void tokensDifferFromStartToStart() throws IOException {
		try (PageServer other = new PageServer(0, (token) -> token, (action, target) -> false)) {
			other.start();
			String page = get(other, "/", "localhost:" + other.port());
			assertThat(page).startsWith("HTTP/1.1 200 ").doesNotContain(token());
		}
	}

	@Test
	void refusesWhatIsNoFormOfThePage() throws IOException {
		assertThat(post("/act", ownHost(), ownOrigin(), "token")).startsWith("HTTP/1.1 400 ");
		assertThat(post("/act", ownHost(), ownOrigin(), "token=%zz")).startsWith("HTTP/1.1 400 ");
		assertThat(post("/act", ownHost(), ownOrigin(), form(token(), "freeze", "x".repeat(2000))))
			.startsWith("HTTP/1.1 400 ");
		assertThat(post("/act", ownHost(), ownOrigin(), form(token(), "explode", "node-1")))
			.startsWith("HTTP/1.1 404 ");
		assertThat(this.performed).isEmpty();
	}

	@Test
	void performsNothingOnGet() throws IOException {
		assertThat(get("/act?" + form(token(), "freeze", "node-1"), ownHost())).startsWith("HTTP/1.1 405 ");
		assertThat(post("/", ownHost(), ownOrigin(), "")).startsWith("HTTP/1.1 405 ");
		assertThat(this.performed).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "/page.css", "/page.js", "/icon.svg" })
	void servesWhatThePageNeeds(String path) throws IOException {
		assertThat(get(path, ownHost())).startsWith("HTTP/1.1 200 ");
	}

	@ParameterizedTest
	@ValueSource(strings = { "/PageServer.class", "/../launcher/page.css", "/%2e%2e/page.css", "/nothing" })
	void servesNothingElse(String path) throws IOException {
		assertThat(get(path, ownHost())).startsWith("HTTP/1.1 404 ");
	}

	@Test
	void letsNobodyFrameItAndNothingForeignRunInIt() throws IOException {
		assertThat(get("/", ownHost())).containsIgnoringCase("Content-Security-Policy: default-src 'none';")
			.contains("frame-ancestors 'none'")
			.doesNotContain("unsafe-inline")
			.containsIgnoringCase("X-Content-Type-Options: nosniff")
			.containsIgnoringCase("Cache-Control: no-store");
	}

	private String ownHost() {
		return "localhost:" + this.server.port();
	}

	private String ownOrigin() {
		return "http://" + ownHost();
	}

	private String token() throws IOException {
		String page = get("/", ownHost());
		return page.substring(page.indexOf("<p>") + 3, page.indexOf("</p>"));
	}

	private static String form(String token, String action, String target) {
		return "token=%s&action=%s&target=%s".formatted(URLEncoder.encode(token, StandardCharsets.UTF_8), action,
				target);
	}

	private String get(String path, String host) throws IOException {
		return get(this.server, path, host);
	}

	private static String get(PageServer server, String path, String host) throws IOException {
		return request(server, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n".formatted(path, host));
	}

	private String post(String path, String host, String origin, String body) throws IOException {
		return request("POST %s HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
			.formatted(path, host, origin, body.length(), body));
	}

	private String request(String text) throws IOException {
		return request(this.server, text);
	}

	/**
	 * Send what a client of Java would refuse to send.
	 */
	private static String request(PageServer server, String text) throws IOException {
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
			socket.setSoTimeout(30_000);
			socket.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
			return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		}
	}

}
