package io.github.fencedleadership.sample.launcher;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.StreamSupport;

import org.assertj.core.api.ListAssert;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The sample as a cluster of real processes on a real PostgreSQL: what happens when its
 * leader dies, freezes or is stopped.
 */
@TestInstance(Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "There are no signals on Windows")
class ClusterFailoverIntegrationTests {

	private static final String ROLE = "ledger";

	private static final Duration LEASE_TTL = Duration.ofSeconds(6);

	private static final Duration RENEW_INTERVAL = LEASE_TTL.dividedBy(3);

	/**
	 * For a machine that has other things to do.
	 */
	private static final Duration SLACK = Duration.ofSeconds(30);

	private final List<String> output = new CopyOnWriteArrayList<>();

	private final Cluster cluster = new Cluster(NodeProcess.class, (line) -> {
		System.out.println(line);
		this.output.add(line);
	});

	private final Map<String, Integer> ports = new TreeMap<>();

	private final Map<String, ChildProcess> nodes = new HashMap<>();

	private final HttpClient httpClient = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(2)).build();

	private final JsonMapper jsonMapper = JsonMapper.builder().build();

	@BeforeAll
	void startDatabase() throws Exception {
		this.cluster.startDatabase();
		List<Integer> free = FreePorts.find(3);
		for (int i = 0; i < free.size(); i++) {
			this.ports.put("node-" + (i + 1), free.get(i));
		}
	}

	/**
	 * Start the nodes that earlier tests have ended. The first time, all of them at once
	 * in an empty database.
	 */
	@BeforeEach
	void startNodes() throws IOException {
		for (String name : this.ports.keySet()) {
			ChildProcess node = this.nodes.get(name);
			if (node == null || !node.isAlive()) {
				this.nodes.put(name,
						this.cluster.startNode(name, this.ports.get(name),
								List.of("--fenced-leadership.lease-ttl=" + LEASE_TTL,
										"--fenced-leadership.roles.ledger.stall-timeout=1m",
										"--sample.preparation-time=500ms", "--sample.summary-interval=500ms")));
			}
		}
		awaitAgreement(this.ports.keySet().stream().toList());
	}

	@AfterAll
	void endWhatWasStarted() {
		this.cluster.close();
	}

	@Test
	void anotherNodeTakesOverWhenTheLeaderIsKilled() {
		View before = view("node-1");
		String victim = before.leader(ROLE);
		List<String> others = othersThan(victim);
		Instant killed = Instant.now();
		node(victim).kill();
		View after = awaitTakeover(others, before);
		assertThat(after.acquiredAt(ROLE)).isBetween(killed, killed.plus(LEASE_TTL).plus(SLACK));
		awaitAgreement(others);
		awaitRows(after, 3);
		assertThat(rowsOutOfOrder()).isEmpty();
		assertWritersOf(after).containsExactly(after.leaderId(ROLE));
	}

	@Test
	void resumedLeaderIsRefusedItsLateWriteAndStartsNoWork() {
		View before = view("node-1");
		String victim = before.leader(ROLE);
		List<String> others = othersThan(victim);
		int linesBefore = this.output.size();
		freezeInTheMiddleOfItsWork(victim);
		Instant stopped = Instant.now();
		View after;
		try {
			after = awaitTakeover(others, before);
			assertThat(after.acquiredAt(ROLE)).isBetween(stopped, stopped.plus(LEASE_TTL).plus(SLACK));
			awaitRows(after, 3);
			assertThat(refusals()).filteredOn((refusal) -> refusal.token() == before.token(ROLE)).isEmpty();
		}
		finally {
			node(victim).signal("CONT");
		}
		await().untilAsserted(() -> {
			View resumed = view(victim);
			assertThat(resumed.state(ROLE)).isEqualTo("STANDBY");
			assertThat(resumed.leader(ROLE)).isEqualTo(after.leader(ROLE));
			assertThat(resumed.token(ROLE)).isEqualTo(after.token(ROLE));
		});
		awaitAgreement(this.ports.keySet().stream().toList());
		await()
			.untilAsserted(() -> assertThat(refusals()).filteredOn((refusal) -> refusal.token() == before.token(ROLE))
				.isNotEmpty());
		awaitRows(after, 10);
		assertThat(refusals()).filteredOn((refusal) -> refusal.token() == before.token(ROLE))
			.singleElement()
			.isEqualTo(new Refusal("ledger", ROLE, before.token(ROLE), after.token(ROLE), before.leaderId(ROLE),
					"entry " + (rowsBefore(after) + 1)));
		assertThat(rowsOutOfOrder()).isEmpty();
		assertThat(rows()).extracting(Row::entry).doesNotHaveDuplicates();
		assertWritersOf(after).containsExactly(after.leaderId(ROLE));
		String loss = "No longer leading role '%s' with fencing token '%d'".formatted(ROLE, before.token(ROLE));
		assertThat(this.output.subList(linesBefore, this.output.size()))
			.filteredOn((line) -> line.startsWith("[" + victim + "]") && line.contains(loss))
			.hasSize(1);
	}

	@Test
	void anotherNodeTakesOverAtOnceWhenTheLeaderIsStopped() {
		View before = view("node-1");
		String victim = before.leader(ROLE);
		List<String> others = othersThan(victim);
		Instant terminated = Instant.now();
		node(victim).signal("TERM");
		View after = awaitTakeover(others, before);
		// Had it not been released, its lease would not have lapsed before that.
		assertThat(after.acquiredAt(ROLE)).isBetween(terminated, terminated.plus(LEASE_TTL).minus(RENEW_INTERVAL));
		assertThat(node(victim).awaitExit(SLACK)).isTrue();
		// Deregistered: had it died, it would be listed for a while.
		assertThat(view(others.get(0)).nodeNames()).containsExactlyElementsOf(others);
		awaitAgreement(others);
		awaitRows(after, 3);
		assertThat(rowsOutOfOrder()).isEmpty();
		assertWritersOf(after).containsExactly(after.leaderId(ROLE));
	}

	/**
	 * Stop the process at a moment when it prepares an entry, as it nearly always does.
	 * The database tells whether the stopped process was at it; if not, it goes on and is
	 * stopped again, before anybody has noticed.
	 */
	private void freezeInTheMiddleOfItsWork(String name) {
		await().until(() -> {
			node(name).signal("STOP");
			if (isEntryBeingPrepared()) {
				return true;
			}
			node(name).signal("CONT");
			return false;
		});
	}

	private boolean isEntryBeingPrepared() {
		return database().sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
			.query(Long.class)
			.single() > 0;
	}

	private ChildProcess node(String name) {
		ChildProcess node = this.nodes.get(name);
		assertThat(node).isNotNull();
		return node;
	}

	private List<String> othersThan(String name) {
		return this.ports.keySet().stream().filter((other) -> !other.equals(name)).toList();
	}

	/**
	 * Wait until exactly one of the nodes leads, in a later term.
	 */
	private View awaitTakeover(List<String> names, View before) {
		await().untilAsserted(() -> {
			List<View> views = names.stream().map(this::view).toList();
			assertThat(views).extracting((view) -> view.state(ROLE)).containsExactlyInAnyOrder("LEADING", "STANDBY");
			assertThat(views).extracting((view) -> view.token(ROLE))
				.containsOnly(views.get(0).token(ROLE))
				.allMatch((token) -> token > before.token(ROLE));
			assertThat(views).extracting((view) -> view.leader(ROLE)).allMatch(names::contains);
		});
		return view(names.get(0));
	}

	/**
	 * Wait until the endpoints of the nodes list exactly these nodes as live, and agree
	 * on who leads what.
	 */
	private void awaitAgreement(List<String> names) {
		await().untilAsserted(() -> {
			List<View> views = names.stream().map(this::view).toList();
			assertThat(views).extracting(View::agreed).containsOnly(views.get(0).agreed());
			View view = views.get(0);
			assertThat(view.nodeNames()).containsExactlyElementsOf(names);
			assertThat(view.agreed().leaders()).containsOnlyKeys(ROLE, "ledger-summary");
			assertThat(names).containsAll(view.agreed().leaders().values().stream().map(View::name).toList());
			for (String role : view.agreed().leaders().keySet()) {
				assertThat(views).filteredOn((other) -> "LEADING".equals(other.state(role)))
					.singleElement()
					.satisfies((leading) -> assertThat(leading.self()).isEqualTo(view.leader(role)));
			}
		});
	}

	private void awaitRows(View view, int count) {
		await().untilAsserted(() -> assertThat(rows()).filteredOn((row) -> row.token() == view.token(ROLE))
			.hasSizeGreaterThanOrEqualTo(count));
	}

	private ListAssert<String> assertWritersOf(View view) {
		return assertThat(
				rows().stream().filter((row) -> row.token() == view.token(ROLE)).map(Row::node).distinct().toList());
	}

	/**
	 * Return the rows that were written after one with a higher token.
	 */
	private List<Row> rowsOutOfOrder() {
		List<Row> outOfOrder = new ArrayList<>();
		long highest = 0;
		for (Row row : rows()) {
			if (row.token() < highest) {
				outOfOrder.add(row);
			}
			highest = Math.max(highest, row.token());
		}
		return outOfOrder;
	}

	private long rowsBefore(View view) {
		return rows().stream().filter((row) -> row.token() < view.token(ROLE)).count();
	}

	private List<Row> rows() {
		return database().sql("SELECT node, fencing_token AS token, entry FROM ledger WHERE role = ? ORDER BY id")
			.param(ROLE)
			.query(Row.class)
			.list();
	}

	private List<Refusal> refusals() {
		return database().sql("""
				SELECT resource, role, fencing_token AS token, newer_token, node, entry FROM ledger_refusal ORDER BY id
				""").query(Refusal.class).list();
	}

	private JdbcClient database() {
		return JdbcClient.create(new DriverManagerDataSource(this.cluster.jdbcUrl(), "postgres", ""));
	}

	private View view(String name) {
		return new View(get(name, "leadership"), get(name, "nodes"));
	}

	private JsonNode get(String name, String endpoint) {
		URI uri = URI.create("http://localhost:%d/actuator/%s".formatted(this.ports.get(name), endpoint));
		try {
			HttpResponse<String> response = this.httpClient
				.send(HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(10)).build(), BodyHandlers.ofString());
			assertThat(response.statusCode()).isEqualTo(200);
			return this.jsonMapper.readTree(response.body());
		}
		catch (IOException ex) {
			throw new AssertionError("No answer from " + name, ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new AssertionError("Interrupted", ex);
		}
	}

	private static ConditionFactory await() {
		return Awaitility.await().atMost(LEASE_TTL.plus(SLACK).plus(SLACK)).pollInterval(Duration.ofMillis(200));
	}

	/**
	 * A row of the ledger.
	 *
	 * @param node the id of the node that wrote it
	 * @param token the token that it was stamped with
	 * @param entry what it says
	 */
	record Row(String node, long token, String entry) {

	}

	/**
	 * A refused row of the ledger.
	 *
	 * @param resource what was to be written to
	 * @param role the role of the writer
	 * @param token the token of the writer
	 * @param newerToken the higher token that was known
	 * @param node the id of the node that wanted to write it
	 * @param entry what it would have said
	 */
	record Refusal(String resource, String role, long token, long newerToken, String node, String entry) {

	}

	/**
	 * What all nodes have to agree on.
	 *
	 * @param leaders the ids of the leaders, by role
	 * @param tokens the tokens, by role
	 * @param nodes the roles that the live nodes lead, by their ids
	 */
	private record Agreed(Map<String, String> leaders, Map<String, Long> tokens, Map<String, List<String>> nodes) {

	}

	/**
	 * What a node tells.
	 *
	 * @param leadership the answer of the one endpoint
	 * @param nodes the answer of the other
	 */
	private record View(JsonNode leadership, JsonNode nodes) {

		static String name(String id) {
			return id.substring(0, id.lastIndexOf('#'));
		}

		String self() {
			return this.leadership.path("node").path("name").asString();
		}

		String leader(String role) {
			return role(role).path("leader").path("name").asString();
		}

		String leaderId(String role) {
			return role(role).path("leader").path("id").asString();
		}

		long token(String role) {
			return role(role).path("fencingToken").asLong();
		}

		@Nullable String state(String role) {
			return role(role).path("state").asString();
		}

		Instant acquiredAt(String role) {
			return Instant.parse(role(role).path("acquiredAt").asString());
		}

		List<String> nodeNames() {
			return agreed().nodes().keySet().stream().map(View::name).toList();
		}

		Agreed agreed() {
			Map<String, String> leaders = new TreeMap<>();
			Map<String, Long> tokens = new TreeMap<>();
			for (JsonNode role : this.leadership.path("roles")) {
				leaders.put(role.path("role").asString(), role.path("leader").path("id").asString());
				tokens.put(role.path("role").asString(), role.path("fencingToken").asLong());
			}
			Map<String, List<String>> nodes = new TreeMap<>();
			for (JsonNode node : this.nodes.path("nodes")) {
				nodes.put(node.path("id").asString(), texts(node.path("roles")));
			}
			return new Agreed(leaders, tokens, nodes);
		}

		private JsonNode role(String name) {
			return StreamSupport.stream(this.leadership.path("roles").spliterator(), false)
				.filter((role) -> role.path("role").asString().equals(name))
				.findFirst()
				.orElseThrow(() -> new AssertionError("No role '%s' in %s".formatted(name, this.leadership)));
		}

		private static List<String> texts(JsonNode array) {
			return StreamSupport.stream(array.spliterator(), false).map(JsonNode::asString).toList();
		}

	}

}
