package io.github.fencedleadership.sample.launcher;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BiPredicate;
import java.util.function.UnaryOperator;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import org.jspecify.annotations.Nullable;

/**
 * Serves the page, and has done what its buttons ask for.
 * <p>
 * It sends signals to processes, so that other pages in the same browser must not reach
 * it: it listens at the loopback address only, answers to no other name (DNS rebinding),
 * and does nothing without the origin of the page and the token that is in it.
 */
final class PageServer implements AutoCloseable {

	private static final int MAX_BODY_LENGTH = 1024;

	private static final Map<String, String> RESOURCES = Map.of("/page.css", "text/css; charset=utf-8", "/page.js",
			"text/javascript; charset=utf-8", "/icon.svg", "image/svg+xml");

	private final UnaryOperator<String> page;

	private final BiPredicate<String, String> operator;

	private final String token = newToken();

	private final HttpServer server;

	private final ExecutorService executor;

	/**
	 * Create a server that does not listen yet.
	 * @param port the port, 0 for any that is free
	 * @param page makes the page, with the token that its forms have to send
	 * @param operator does an action to a target, unless there is no such
	 * @throws IOException if the port is in use
	 */
	PageServer(int port, UnaryOperator<String> page, BiPredicate<String, String> operator) throws IOException {
		this.page = page;
		this.operator = operator;
		this.server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
		this.executor = Executors.newFixedThreadPool(4, (task) -> {
			Thread thread = new Thread(task, "page");
			thread.setDaemon(true);
			return thread;
		});
		this.server.setExecutor(this.executor);
		this.server.createContext("/", this::handle);
	}

	private static String newToken() {
		byte[] token = new byte[16];
		new SecureRandom().nextBytes(token);
		return Base64.getUrlEncoder().withoutPadding().encodeToString(token);
	}

	void start() {
		this.server.start();
	}

	int port() {
		return this.server.getAddress().getPort();
	}

	@Override
	public void close() {
		this.server.stop(0);
		this.executor.shutdownNow();
	}

	private void handle(HttpExchange exchange) throws IOException {
		try (exchange) {
			Headers headers = exchange.getResponseHeaders();
			headers.set("Content-Security-Policy",
					"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'");
			headers.set("X-Content-Type-Options", "nosniff");
			headers.set("Referrer-Policy", "same-origin");
			headers.set("Cross-Origin-Resource-Policy", "same-origin");
			headers.set("Cache-Control", "no-store");
			String path = exchange.getRequestURI().getPath();
			String host = exchange.getRequestHeaders().getFirst("Host");
			if (host == null || !ownHosts().contains(host)) {
				send(exchange, 421, "This is not the server of that name: use http://localhost:%d/".formatted(port()));
			}
			else if (path.equals("/act")) {
				act(exchange, host);
			}
			else if (!exchange.getRequestMethod().equals("GET") && !exchange.getRequestMethod().equals("HEAD")) {
				headers.set("Allow", "GET, HEAD");
				send(exchange, 405, "Not allowed");
			}
			else if (path.equals("/")) {
				send(exchange, 200, "text/html; charset=utf-8",
						this.page.apply(this.token).getBytes(StandardCharsets.UTF_8));
			}
			else if (RESOURCES.containsKey(path)) {
				send(exchange, 200, RESOURCES.get(path), resource(path));
			}
			else {
				send(exchange, 404, "Not found");
			}
		}
	}

	private Set<String> ownHosts() {
		return Set.of("localhost:" + port(), "127.0.0.1:" + port(), "[::1]:" + port());
	}

	private void act(HttpExchange exchange, String host) throws IOException {
		if (!exchange.getRequestMethod().equals("POST")) {
			exchange.getResponseHeaders().set("Allow", "POST");
			send(exchange, 405, "Not allowed");
			return;
		}
		if (!("http://" + host).equals(exchange.getRequestHeaders().getFirst("Origin"))) {
			send(exchange, 403, "Only the page itself may ask for that");
			return;
		}
		Map<String, String> form = form(exchange);
		if (form == null) {
			send(exchange, 400, "Not a form of the page");
		}
		else if (!isOwnToken(form.getOrDefault("token", ""))) {
			send(exchange, 403, "The page is of an earlier start of the cluster: reload it");
		}
		else if (!this.operator.test(form.getOrDefault("action", ""), form.getOrDefault("target", ""))) {
			send(exchange, 404, "There is no such action or target");
		}
		else {
			exchange.getResponseHeaders().set("Location", "/");
			exchange.sendResponseHeaders(303, -1);
		}
	}

	private boolean isOwnToken(String candidate) {
		return MessageDigest.isEqual(candidate.getBytes(StandardCharsets.UTF_8),
				this.token.getBytes(StandardCharsets.UTF_8));
	}

	private static @Nullable Map<String, String> form(HttpExchange exchange) throws IOException {
		byte[] body = exchange.getRequestBody().readNBytes(MAX_BODY_LENGTH + 1);
		if (body.length > MAX_BODY_LENGTH) {
			return null;
		}
		Map<String, String> form = new HashMap<>();
		for (String field : new String(body, StandardCharsets.UTF_8).split("&", -1)) {
			int equals = field.indexOf('=');
			if (equals < 0) {
				return null;
			}
			try {
				form.put(URLDecoder.decode(field.substring(0, equals), StandardCharsets.UTF_8),
						URLDecoder.decode(field.substring(equals + 1), StandardCharsets.UTF_8));
			}
			catch (IllegalArgumentException ex) {
				return null;
			}
		}
		return form;
	}

	private static byte[] resource(String path) throws IOException {
		try (InputStream resource = PageServer.class.getResourceAsStream(path.substring(1))) {
			if (resource == null) {
				throw new IOException("'%s' is not on the class path".formatted(path));
			}
			return resource.readAllBytes();
		}
	}

	private static void send(HttpExchange exchange, int status, String text) throws IOException {
		send(exchange, status, "text/plain; charset=utf-8", text.getBytes(StandardCharsets.UTF_8));
	}

	private static void send(HttpExchange exchange, int status, @Nullable String type, byte[] body) throws IOException {
		exchange.getResponseHeaders().set("Content-Type", type);
		boolean head = exchange.getRequestMethod().equals("HEAD");
		exchange.sendResponseHeaders(status, head ? -1 : body.length);
		if (!head) {
			try (OutputStream output = exchange.getResponseBody()) {
				output.write(body);
			}
		}
	}

}
