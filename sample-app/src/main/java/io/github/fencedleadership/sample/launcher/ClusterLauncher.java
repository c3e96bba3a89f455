package io.github.fencedleadership.sample.launcher;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Clock;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Runs a PostgreSQL and three nodes of the sample, serves a page about them, tells what
 * to look at and what to try, and leaves nothing behind: not after Ctrl-C, not when it is
 * killed, and not when the process that started it is.
 */
public final class ClusterLauncher {

	private static final Duration NODE_START_TIMEOUT = Duration.ofMinutes(3);

	private final LauncherOptions options;

	private final Cluster cluster;

	private final Clock clock = Clock.system(ZoneId.systemDefault());

	private final List<ClusterNode> nodes = new ArrayList<>();

	private final AtomicBoolean stopping = new AtomicBoolean();

	private final CountDownLatch ended = new CountDownLatch(1);

	private ClusterLauncher(LauncherOptions options, Class<?> nodeClass) {
		this.options = options;
		this.cluster = new Cluster(nodeClass, System.out::println);
	}

	/**
	 * Run the cluster until it is told to end.
	 * @param arguments {@code --ports=8081,8082,8083}, {@code --page-port=8080}, and any
	 * property for the nodes, such as {@code --fenced-leadership.lease-ttl=10s}
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
			options.ports()
				.forEach((port) -> requireFree(new InetSocketAddress(port), LauncherOptions.PORTS, "9081,9082,9083"));
			options.pagePort()
				.ifPresent((port) -> requireFree(new InetSocketAddress(InetAddress.getLoopbackAddress(), port),
						LauncherOptions.PAGE_PORT, "9080"));
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

	private static void requireFree(InetSocketAddress address, String option, String example) {
		if (!isFree(address)) {
			throw new IllegalArgumentException(
					("Port '%d' is in use: stop what listens there, or choose other ports with '%s', "
							+ "for Maven -Dspring-boot.run.arguments=%s%s")
						.formatted(address.getPort(), option, option, example));
		}
	}

	private static boolean isFree(InetSocketAddress address) {
		try (ServerSocket socket = new ServerSocket()) {
			socket.setReuseAddress(true);
			socket.bind(address);
			return true;
		}
		catch (IOException ex) {
			return false;
		}
	}

	private void run() throws IOException, InterruptedException {
		Runtime.getRuntime().addShutdownHook(new Thread(this::stop, "cluster-stop"));
		watchParent();
		System.out.println("Starting PostgreSQL ...");
		ChildProcess database = this.cluster.startDatabase();
		database.onExit((exitCode) -> end("PostgreSQL has ended, and so does the cluster."));
		System.out.printf("Starting %d nodes ...%n", this.options.ports().size());
		startNodes();
		try (PageServer page = startPage()) {
			System.out.printf("The page is at http://localhost:%d/%n", page.port());
			for (ClusterNode node : this.nodes) {
				awaitReady(node);
			}
			System.out.println(explanation(page.port()));
			this.ended.await();
		}
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

	private void startNodes() throws IOException {
		for (int port : this.options.ports()) {
			ClusterNode node = new ClusterNode(this.cluster, "node-" + (this.nodes.size() + 1), port,
					this.options.nodeArguments());
			this.nodes.add(node);
		}
		for (ClusterNode node : this.nodes) {
			node.start((exitCode) -> ended(node, exitCode));
		}
	}

	/**
	 * The cluster ends with its last node. Not if that was killed on the page, where it
	 * can be started again.
	 */
	private void ended(ClusterNode node, int exitCode) {
		long left = this.nodes.stream().filter(ClusterNode::isAlive).count();
		if (!this.stopping.get()) {
			System.out.printf("%n%s has ended with exit code %d, nodes left: %d%n%n", node.name(), exitCode, left);
		}
		if (left == 0 && !node.isKilled()) {
			end("No node is left, and so the cluster ends.");
		}
	}

	private PageServer startPage() throws IOException {
		EventLog events = new EventLog(this.clock);
		NodeReader nodeReader = new NodeReader();
		ClusterWatch watch = new ClusterWatch(this.nodes, nodeReader, new LedgerReader(this.cluster.jdbcUrl()), events,
				this.clock);
		ClusterOperator operator = new ClusterOperator(this.nodes, watch, nodeReader, events, this::ended);
		PageServer page = new PageServer(pagePort(), (token) -> ClusterPage.render(watch.latest(), events.events(),
				token, this.clock.instant(), this.clock.getZone()), operator::perform);
		watch.start();
		page.start();
		return page;
	}

	private int pagePort() {
		int port = LauncherOptions.DEFAULT_PAGE_PORT;
		boolean available = !this.options.ports().contains(port)
				&& isFree(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
		return this.options.pagePort().orElse(available ? port : 0);
	}

	private static void awaitReady(ClusterNode node) throws InterruptedException {
		HttpClient client = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(2)).build();
		HttpRequest request = HttpRequest.newBuilder(node.uri("/actuator/health"))
			.timeout(Duration.ofSeconds(5))
			.build();
		long deadline = System.nanoTime() + NODE_START_TIMEOUT.toNanos();
		while (node.isAlive() && System.nanoTime() < deadline) {
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

	private String explanation(int pagePort) {
		StringBuilder text = new StringBuilder();
		text.append("\n----------------------------------------------------------------------\n");
		text.append("The cluster is up. See it, and freeze, kill and start its nodes, at\n\n");
		text.append("  http://localhost:%d/\n\n".formatted(pagePort));
		text.append("or by hand. Each node tells who leads and who is alive:\n\n");
		for (ClusterNode node : this.nodes) {
			text.append(
					"  %s (pid %d)  curl -s %s\n".formatted(node.name(), node.pid(), node.uri("/actuator/leadership")));
		}
		text.append("  all nodes           curl -s %s\n".formatted(this.nodes.get(0).uri("/actuator/nodes")));
		text.append("""

				Find the leader of the role 'ledger', and try with its pid:

				  kill -9 <pid>       it dies: another node leads when its lease has lapsed
				  kill -STOP <pid>    it freezes, as in a long pause: another node leads after
				  kill -CONT <pid>    the same time; resumed, its late write is refused, and it
				                      finds out and stands by
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

}
