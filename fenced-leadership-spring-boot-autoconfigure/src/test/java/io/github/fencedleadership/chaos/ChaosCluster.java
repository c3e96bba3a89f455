package io.github.fencedleadership.chaos;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

import org.awaitility.Awaitility;

import io.github.fencedleadership.chaos.ChaosNode.Command;
import io.github.fencedleadership.chaos.History.ExpectedSuccessor;
import io.github.fencedleadership.chaos.History.Term;
import io.github.fencedleadership.chaos.HistoryEvent.Kind;
import io.github.fencedleadership.jdbc.TestDatabase;
import io.github.fencedleadership.jdbc.TestSchema;

/**
 * Nodes in processes of their own, each with a network of its own between itself and the
 * database, and the history of what they do.
 */
final class ChaosCluster implements AutoCloseable {

	/** Beyond what is promised, for a machine that has other things to do. */
	static final Duration SLACK = Duration.ofSeconds(10);

	private static final Duration TIMEOUT = Duration.ofSeconds(90);

	private static final int LINES_KEPT = 2000;

	private final Duration ttl;

	private final List<String> roles;

	private final boolean guarded;

	private final History history = new History();

	private final Map<String, TcpProxy> networks = new ConcurrentHashMap<>();

	private final Map<String, Node> nodes = new LinkedHashMap<>();

	private final Queue<String> log = new ConcurrentLinkedQueue<>();

	private final Map<String, AtomicInteger> counts = new ConcurrentHashMap<>();

	private final Thread clock = new Thread(this::watchClock, "database-clock");

	private volatile Duration longestTtl;

	private volatile TestSchema schema;

	private volatile boolean dumping;

	private volatile boolean closed;

	/**
	 * Create a cluster without nodes.
	 * @param schema a schema with the tables of the product
	 * @param ttl the TTL of the leases
	 * @param roles the roles
	 * @param guarded whether writes are guarded
	 */
	ChaosCluster(TestSchema schema, Duration ttl, List<String> roles, boolean guarded) {
		this.schema = schema;
		this.ttl = ttl;
		this.longestTtl = ttl;
		this.roles = roles;
		this.guarded = guarded;
		History.createTables(schema, roles);
		this.clock.setDaemon(true);
		this.clock.start();
	}

	Duration ttl() {
		return this.ttl;
	}

	List<String> roles() {
		return this.roles;
	}

	History history() {
		return this.history;
	}

	TestSchema schema() {
		return this.schema;
	}

	// Nodes

	/**
	 * Start a node, or start it again.
	 * @param name the name of the node
	 * @return the node
	 */
	Node start(String name) {
		return start(name, name, this.ttl);
	}

	/**
	 * Start a node.
	 * @param key what it is known by here
	 * @param name what it is called
	 * @param ttl the TTL of its leases
	 * @return the node
	 */
	Node start(String key, String name, Duration ttl) {
		TcpProxy network = this.networks.computeIfAbsent(key, (missing) -> new TcpProxy(address(this.schema)));
		Node node = new Node(key, name, network);
		this.longestTtl = (ttl.compareTo(this.longestTtl) > 0) ? ttl : this.longestTtl;
		List<String> arguments = new ArrayList<>(List.of(name, urlThrough(network), this.schema.username(),
				this.schema.password(), Long.toString(ttl.toMillis()), Boolean.toString(this.guarded)));
		arguments.addAll(this.roles);
		node.process = ChildJvm.start(ChaosNode.class, (line) -> take(node, line), arguments.toArray(String[]::new));
		synchronized (this.nodes) {
			this.nodes.put(key, node);
		}
		return node;
	}

	private String urlThrough(TcpProxy network) {
		String url = this.schema.url().replaceFirst("//[^/]+/", "//127.0.0.1:%d/".formatted(network.port()));
		boolean postgres = this.schema.database() == TestDatabase.POSTGRESQL;
		Duration timeout = this.ttl.multipliedBy(2);
		return url + (url.contains("?") ? "&" : "?") + "socketTimeout="
				+ (postgres ? Math.max(timeout.toSeconds(), 1) : timeout.toMillis());
	}

	private static InetSocketAddress address(TestSchema schema) {
		URI uri = URI.create(schema.url().substring("jdbc:".length()));
		return new InetSocketAddress(uri.getHost(), uri.getPort());
	}

	private void take(Node node, String line) {
		HistoryEvent event = HistoryEvent.parse(line).orElse(null);
		if (event == null) {
			if (this.dumping || !line.startsWith("\tat ")) {
				this.log.add(node.key + ": " + line);
			}
			while (this.log.size() > LINES_KEPT) {
				this.log.poll();
			}
			if (line.contains("Unexpected failure of the elector")) {
				this.history.add(new HistoryEvent(0, 0, node.key, Kind.ELECTOR_FAILED, "-", 0, "-"));
			}
			return;
		}
		node.ownerId = event.node();
		this.history.add(event);
		for (String key : List.of(event.kind().name(), event.kind() + event.role(),
				event.kind() + event.role() + event.node())) {
			this.counts.computeIfAbsent(key, (missing) -> new AtomicInteger()).incrementAndGet();
		}
	}

	int count(Kind kind) {
		return count(kind.name());
	}

	int count(Kind kind, String role) {
		return count(kind + role);
	}

	int count(Kind kind, String role, Node node) {
		return count(kind + role + node.ownerId);
	}

	private int count(String key) {
		return this.counts.getOrDefault(key, new AtomicInteger()).get();
	}

	Collection<Node> nodes() {
		synchronized (this.nodes) {
			return List.copyOf(this.nodes.values());
		}
	}

	void forget(Node node) {
		synchronized (this.nodes) {
			this.nodes.remove(node.key);
		}
	}

	// The database

	/**
	 * Lead all nodes to another database, and break the connections that they have.
	 * @param schema where the database is
	 */
	void connectTo(TestSchema schema) {
		this.networks.values().forEach((network) -> {
			network.setTarget(address(schema));
			network.cut();
		});
	}

	/**
	 * Take another database for the one that knows the truth.
	 * @param schema where it is
	 */
	void moveTo(TestSchema schema) {
		this.schema = schema;
		connectTo(schema);
	}

	Connection connect() throws SQLException {
		return DriverManager.getConnection(this.schema.url(), this.schema.username(), this.schema.password());
	}

	/**
	 * Return who leads a role.
	 * @param role the role
	 * @return the live term, empty if there is none or the database does not answer
	 */
	Optional<Leader> leader(String role) {
		String now = (this.schema.database() == TestDatabase.POSTGRESQL) ? "clock_timestamp()" : "UTC_TIMESTAMP(6)";
		try (Connection connection = connect();
				Statement statement = connection.createStatement();
				ResultSet row = statement.executeQuery(
						"SELECT owner_id, fencing_token FROM fenced_lease WHERE role = '%s' AND expires_at > %s"
							.formatted(role, now))) {
			if (!row.next()) {
				return Optional.empty();
			}
			String owner = row.getString(1);
			long token = row.getLong(2);
			return nodes().stream()
				.filter((node) -> owner.equals(node.ownerId))
				.findFirst()
				.map((node) -> new Leader(node, new Term(role, token)));
		}
		catch (SQLException ex) {
			return Optional.empty();
		}
	}

	Leader awaitLeader(String role) {
		return awaitLeader(role, 0);
	}

	/**
	 * Wait for a term.
	 * @param role the role
	 * @param token the token that it has to be above
	 * @return the term
	 */
	Leader awaitLeader(String role, long token) {
		Leader[] found = new Leader[1];
		await("a leader of '%s' above %d".formatted(role, token), () -> {
			found[0] = leader(role).filter((leader) -> leader.term().token() > token).orElse(null);
			return found[0] != null;
		});
		return found[0];
	}

	/**
	 * Wait until each role is led, and written to.
	 */
	void awaitProgress() {
		for (String role : this.roles) {
			int before = count(Kind.ACKNOWLEDGED, role);
			await("writes to '%s'".formatted(role), () -> count(Kind.ACKNOWLEDGED, role) > before + 1);
		}
	}

	void await(String what, Callable<Boolean> condition) {
		try {
			Awaitility.await().atMost(TIMEOUT).pollInterval(Duration.ofMillis(20)).until(condition);
		}
		catch (RuntimeException ex) {
			throw failure("There was no " + what, ex);
		}
	}

	private AssertionError failure(String what, Throwable cause) {
		this.dumping = true;
		nodes().forEach((node) -> node.process.dumpThreads());
		return new AssertionError(
				"%s, and the nodes said last:%n%s".formatted(what, String.join(System.lineSeparator(), this.log)),
				cause);
	}

	/**
	 * Expect a successor of a term that has just ended, a TTL and a poll later.
	 * @param term the term
	 * @param reason why it has ended
	 */
	void expectSuccessor(Term term, String reason) {
		Duration ttl = this.longestTtl;
		this.history
			.expect(new ExpectedSuccessor(term, System.nanoTime(), ttl.plus(ttl.dividedBy(20)).plus(SLACK), reason));
	}

	/**
	 * Show that no node has given up: freeze all others, and each of them takes all
	 * roles.
	 */
	void letEachLead() {
		for (Node node : nodes()) {
			List<Node> others = nodes().stream().filter((other) -> other != node).toList();
			others.forEach((other) -> other.process.signal("STOP"));
			try {
				for (String role : this.roles) {
					await("leader '%s' of '%s'".formatted(node.key, role),
							() -> leader(role).filter((leader) -> leader.node() == node).isPresent());
				}
			}
			finally {
				others.forEach((other) -> other.process.signal("CONT"));
			}
		}
		awaitProgress();
	}

	/**
	 * Stop all nodes gracefully, and read what the database knows.
	 */
	void finish() {
		nodes().forEach((node) -> node.process.signal("TERM"));
		for (Node node : nodes()) {
			if (!node.process.awaitExit()) {
				throw failure("Node '%s' does not end".formatted(node.key), null);
			}
		}
		readDatabase();
	}

	void readDatabase() {
		this.history.readFrom(this.schema);
	}

	private void watchClock() {
		while (!this.closed) {
			TestSchema watched = this.schema;
			try (Connection connection = DriverManager.getConnection(watched.url(), watched.username(),
					watched.password()); Statement statement = connection.createStatement()) {
				while (!this.closed && watched == this.schema) {
					this.history.add(History.sampleClock(statement, watched.database()));
					Thread.sleep(50);
				}
			}
			catch (SQLException ex) {
				// It does not answer for now.
				LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
			}
			catch (InterruptedException ex) {
				return;
			}
		}
	}

	@Override
	public void close() {
		this.closed = true;
		this.clock.interrupt();
		nodes().forEach((node) -> node.process.close());
		this.networks.values().forEach(TcpProxy::close);
	}

	/**
	 * Return a port that nobody listens to.
	 * @return the port
	 */
	static int freePort() {
		try (ServerSocket socket = new ServerSocket(0)) {
			return socket.getLocalPort();
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * A node.
	 */
	static final class Node {

		private final String key;

		private final String name;

		private final TcpProxy network;

		private ChildJvm process;

		private volatile String ownerId;

		Node(String key, String name, TcpProxy network) {
			this.key = key;
			this.name = name;
			this.network = network;
		}

		String key() {
			return this.key;
		}

		String name() {
			return this.name;
		}

		TcpProxy network() {
			return this.network;
		}

		ChildJvm process() {
			return this.process;
		}

		boolean hasStarted() {
			return this.ownerId != null;
		}

		void tell(Command command, long argument) {
			this.process.send(command + " " + argument);
		}

	}

	/**
	 * A node that leads.
	 *
	 * @param node the node
	 * @param term its term
	 */
	record Leader(Node node, Term term) {

	}

}
