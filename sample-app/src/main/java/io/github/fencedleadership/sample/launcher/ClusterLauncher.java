package io.github.fencedleadership.sample.launcher;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Runs a PostgreSQL and three nodes of the sample, tells what to look at and what to try,
 * and leaves nothing behind: not after Ctrl-C, not when it is killed, and not when the
 * process that started it is.
 */
public final class ClusterLauncher {

	private static final Duration NODE_START_TIMEOUT = Duration.ofMinutes(3);

	private final LauncherOptions options;

	private final Cluster cluster;

	private final AtomicBoolean stopping = new AtomicBoolean();

	private final CountDownLatch ended = new CountDownLatch(1);

	private ClusterLauncher(LauncherOptions options, Class<?> nodeClass) {
		this.options = options;
		this.cluster = new Cluster(nodeClass, System.out::println);
	}

	/**
	 * Run the cluster until it is told to end.
	 * @param arguments {@code --ports=8081,8082,8083}, and any property for the nodes,
	 * such as {@code --fenced-leadership.lease-ttl=10s}
	 */
	public static void main(String[] arguments) {
		run(NodeProcess.class, arguments);
	}

	/**
	 * Run the cluster until it is told to end, and end this process.
	 * @param nodeClass what to run as a node
	 * @param arguments the arguments
	 */
	static void run(Class<?> nodeClass, String... arguments) {
		try {
			LauncherOptions options = LauncherOptions.parse(arguments);
			options.ports().forEach(ClusterLauncher::requireFree);
			new ClusterLauncher(options, nodeClass).run();
		}
		catch (IllegalArgumentException | IOException ex) {
			System.out.println(ex.getMessage());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		System.exit(1);
	}

	private static void requireFree(int port) {
		try (ServerSocket socket = new ServerSocket()) {
			socket.setReuseAddress(true);
			socket.bind(new InetSocketAddress(port));
		}
		catch (IOException ex) {
			throw new IllegalArgumentException(
					("Port '%d' is in use: stop what listens there, or choose other ports with '--ports=', "
							+ "for Maven -Dspring-boot.run.arguments=--ports=9081,9082,9083")
						.formatted(port),
					ex);
		}
	}

	private void run() throws IOException, InterruptedException {
		Runtime.getRuntime().addShutdownHook(new Thread(this::stop, "cluster-stop"));
		watchParent();
		System.out.println("Starting PostgreSQL ...");
		ChildProcess database = this.cluster.startDatabase();
		database.onExit((exitCode) -> end("PostgreSQL has ended, and so does the cluster."));
		System.out.printf("Starting %d nodes ...%n", this.options.ports().size());
		List<Node> nodes = startNodes();
		for (Node node : nodes) {
			awaitReady(node);
		}
		System.out.println(explanation(nodes));
		this.ended.await();
	}

	/**
	 * Maven, if killed, ends nothing that it started. So look after it from here.
	 */
	private void watchParent() {
		ProcessHandle.current().parent().ifPresent((parent) -> {
			Thread watch = new Thread(() -> {
				parent.onExit().join();
				end("The process '%d' that started the cluster has ended, and so does the cluster."
					.formatted(parent.pid()));
			}, "parent-watch");
			watch.setDaemon(true);
			watch.start();
		});
	}

	private List<Node> startNodes() throws IOException {
		AtomicInteger running = new AtomicInteger(this.options.ports().size());
		List<Node> nodes = new ArrayList<>();
		for (int port : this.options.ports()) {
			String name = "node-" + (nodes.size() + 1);
			ChildProcess process = this.cluster.startNode(name, port, this.options.nodeArguments());
			process.onExit((exitCode) -> {
				int left = running.decrementAndGet();
				if (!this.stopping.get()) {
					System.out.printf("%n%s has ended with exit code %d, nodes left: %d%n%n", name, exitCode, left);
				}
				if (left == 0) {
					end("No node is left, and so the cluster ends.");
				}
			});
			nodes.add(new Node(process, port));
		}
		return nodes;
	}

	private static void awaitReady(Node node) throws InterruptedException {
		HttpClient client = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(2)).build();
		HttpRequest request = HttpRequest.newBuilder(node.uri("/actuator/health"))
			.timeout(Duration.ofSeconds(5))
			.build();
		long deadline = System.nanoTime() + NODE_START_TIMEOUT.toNanos();
		while (node.process().isAlive() && System.nanoTime() < deadline) {
			try {
				if (client.send(request, BodyHandlers.discarding()).statusCode() == 200) {
					return;
				}
			}
			catch (IOException ex) {
				// Not yet.
			}
			Thread.sleep(200);
		}
	}

	private static String explanation(List<Node> nodes) {
		StringBuilder text = new StringBuilder();
		text.append("\n----------------------------------------------------------------------\n");
		text.append("The cluster is up. Each node tells who leads and who is alive:\n\n");
		for (Node node : nodes) {
			text.append("  %s (pid %d)  curl -s %s\n".formatted(node.process().name(), node.process().pid(),
					node.uri("/actuator/leadership")));
		}
		Node first = nodes.get(0);
		text.append("  all nodes           curl -s %s\n".formatted(first.uri("/actuator/nodes")));
		text.append("""

				Find the leader of the role 'ledger', and try with its pid:

				  kill -9 <pid>       it dies: another node leads when its lease has lapsed
				  kill -STOP <pid>    it freezes, as in a long pause: another node leads after
				  kill -CONT <pid>    the same time; resumed, it finds out and stands by
				  kill <pid>          it is stopped: another node leads at once

				The fencing token rises with every new leader. Ctrl-C ends everything.
				----------------------------------------------------------------------
				""");
		return text.toString();
	}

	private void end(String reason) {
		if (!this.stopping.get()) {
			System.out.println(reason);
		}
		this.ended.countDown();
	}

	private void stop() {
		this.stopping.set(true);
		System.out.println("Stopping the nodes, then PostgreSQL ...");
		this.cluster.close();
		System.out.println("Stopped.");
	}

	private record Node(ChildProcess process, int port) {

		URI uri(String path) {
			return URI.create("http://localhost:%d%s".formatted(this.port, path));
		}

	}

}
