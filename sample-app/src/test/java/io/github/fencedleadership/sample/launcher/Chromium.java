package io.github.fencedleadership.sample.launcher;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A headless Chromium with one page, driven over its DevTools protocol.
 */
final class Chromium implements AutoCloseable {

	private static final Duration TIMEOUT = Duration.ofSeconds(60);

	private static final List<String> NAMES = List.of("chromium", "chromium-browser", "google-chrome",
			"google-chrome-stable");

	private static final String PORT_FILE = "DevToolsActivePort";

	private final JsonMapper jsonMapper = JsonMapper.builder().build();

	private final HttpClient httpClient = HttpClient.newHttpClient();

	private final AtomicInteger lastId = new AtomicInteger();

	private final Map<Integer, CompletableFuture<JsonNode>> replies = new ConcurrentHashMap<>();

	private final Process process;

	private final WebSocket socket;

	private Chromium(Path executable, Path directory) throws Exception {
		this.process = new ProcessBuilder(executable.toString(), "--headless", "--no-sandbox", "--disable-gpu",
				"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
				"--disable-dev-shm-usage", "--remote-debugging-port=0", "--user-data-dir=" + directory, "about:blank")
			.redirectErrorStream(true)
			.redirectOutput(directory.resolve("output.txt").toFile())
			.start();
		try {
			this.socket = connect(directory.resolve(PORT_FILE));
		}
		catch (Exception | Error ex) {
			this.process.destroyForcibly();
			throw ex;
		}
	}

	/**
	 * Look for the browser on the path.
	 */
	static Optional<Path> find() {
		String path = System.getenv().getOrDefault("PATH", "");
		return NAMES.stream()
			.flatMap((name) -> Arrays.stream(path.split(File.pathSeparator, -1)).map((folder) -> Path.of(folder, name)))
			.filter(Files::isExecutable)
			.findFirst();
	}

	/**
	 * Start the browser.
	 * @param executable where it is
	 * @param directory an empty directory for it
	 */
	static Chromium start(Path executable, Path directory) throws Exception {
		return new Chromium(executable, directory);
	}

	private WebSocket connect(Path portFile) throws Exception {
		Awaitility.await()
			.atMost(TIMEOUT)
			.until(() -> Files.exists(portFile) && Files.readAllLines(portFile).size() == 2);
		URI uri = URI.create("http://127.0.0.1:%s/json/list".formatted(Files.readAllLines(portFile).get(0)));
		JsonNode pages = this.jsonMapper
			.readTree(this.httpClient.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString()).body());
		String url = pages.valueStream()
			.filter((page) -> page.path("type").asString().equals("page"))
			.findFirst()
			.orElseThrow()
			.path("webSocketDebuggerUrl")
			.asString();
		return this.httpClient.newWebSocketBuilder()
			.buildAsync(URI.create(url), new Listener())
			.get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
	}

	/**
	 * Send a command and wait for its reply.
	 */
	JsonNode send(String method, Map<String, ?> parameters) {
		int id = this.lastId.incrementAndGet();
		CompletableFuture<JsonNode> reply = new CompletableFuture<>();
		this.replies.put(id, reply);
		String command = this.jsonMapper.writeValueAsString(Map.of("id", id, "method", method, "params", parameters));
		try {
			this.socket.sendText(command, true).get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
			return reply.get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
		}
		catch (ExecutionException | TimeoutException ex) {
			throw new AssertionError("No reply to " + method, ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new AssertionError("Interrupted", ex);
		}
	}

	/**
	 * Open an address, and wait until it is there with its scripts.
	 */
	void open(String url) {
		send("Page.navigate", Map.of("url", url));
		Awaitility.await()
			.atMost(TIMEOUT)
			.until(() -> evaluate("location.href === '%s' && document.readyState === 'complete'".formatted(url))
				.asBoolean());
	}

	/**
	 * Return the value of a JavaScript expression in the page.
	 */
	JsonNode evaluate(String expression) {
		JsonNode reply = send("Runtime.evaluate",
				Map.of("expression", expression, "returnByValue", true, "awaitPromise", true));
		if (reply.has("exceptionDetails")) {
			throw new AssertionError("'%s' failed: %s".formatted(expression, reply.path("exceptionDetails")));
		}
		return reply.path("result").path("value");
	}

	/**
	 * Return the text of the first element that a CSS selector matches, empty if none
	 * does.
	 */
	String text(String selector) {
		return evaluate("document.querySelector('%s')?.textContent ?? ''".formatted(selector)).asString().strip();
	}

	/**
	 * Return the texts of all elements that a CSS selector matches.
	 */
	List<String> texts(String selector) {
		return evaluate(
				"[...document.querySelectorAll('%s')].map((element) => element.textContent)".formatted(selector))
			.valueStream()
			.map((text) -> text.asString().strip())
			.toList();
	}

	/**
	 * Click into the middle of an element, as a mouse does.
	 */
	void click(String selector) {
		JsonNode point = evaluate("""
				(() => {
					const element = document.querySelector('%s');
					element.scrollIntoView({ block: 'center' });
					const box = element.getBoundingClientRect();
					return [box.x + box.width / 2, box.y + box.height / 2];
				})()""".formatted(selector));
		for (String type : List.of("mousePressed", "mouseReleased")) {
			send("Input.dispatchMouseEvent", Map.of("type", type, "x", point.get(0).asDouble(), "y",
					point.get(1).asDouble(), "button", "left", "clickCount", 1));
		}
	}

	/**
	 * Press a key.
	 */
	void press(String key, int code, String text) {
		for (String type : List.of("keyDown", "keyUp")) {
			send("Input.dispatchKeyEvent", Map.of("type", type, "key", key, "code", key, "windowsVirtualKeyCode", code,
					"text", type.equals("keyDown") ? text : ""));
		}
	}

	/**
	 * Be a screen of another size.
	 */
	void resize(int width, int height, boolean mobile) {
		send("Emulation.setDeviceMetricsOverride",
				Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", mobile));
	}

	/**
	 * Prefer a colour scheme, and to have things move or not.
	 */
	void prefer(String colorScheme, String motion) {
		send("Emulation.setEmulatedMedia",
				Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", colorScheme),
						Map.of("name", "prefers-reduced-motion", "value", motion))));
	}

	/**
	 * Make a picture of the page.
	 */
	void screenshot(Path file) throws IOException {
		JsonNode reply = send("Page.captureScreenshot", Map.of("format", "png", "captureBeyondViewport", true));
		Files.createDirectories(file.getParent());
		Files.write(file, Base64.getDecoder().decode(reply.path("data").asString()));
	}

	@Override
	public void close() throws Exception {
		this.socket.abort();
		try (Stream<ProcessHandle> descendants = this.process.descendants()) {
			List<ProcessHandle> all = descendants.toList();
			this.process.destroy();
			if (!this.process.waitFor(10, TimeUnit.SECONDS)) {
				this.process.destroyForcibly();
			}
			all.forEach(ProcessHandle::destroyForcibly);
			Awaitility.await().atMost(TIMEOUT).until(() -> all.stream().noneMatch(ProcessHandle::isAlive));
		}
	}

	private final class Listener implements WebSocket.Listener {

		private final StringBuilder message = new StringBuilder();

		@Override
		public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
			this.message.append(data);
			if (last) {
				JsonNode reply = Chromium.this.jsonMapper.readTree(this.message.toString());
				this.message.setLength(0);
				CompletableFuture<JsonNode> waiting = Chromium.this.replies.remove(reply.path("id").asInt(-1));
				if (waiting != null && reply.has("error")) {
					waiting.completeExceptionally(new IOException(reply.path("error").toString()));
				}
				else if (waiting != null) {
					waiting.complete(reply.path("result"));
				}
			}
			socket.request(1);
			return CompletableFuture.completedFuture(null);
		}

	}

}
