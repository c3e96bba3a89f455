package io.github.fencedleadership.benchmarks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import io.github.fencedleadership.election.RoleSettings;
import io.github.fencedleadership.jdbc.JdbcDatabase;
import io.github.fencedleadership.jdbc.JdbcLeaseStore;
import io.github.fencedleadership.lease.LeaseRequest;

/**
 * The same with ever more roles, and with ever more nodes.
 */
final class Growth {

	private final Scale scale;

	private final Database.Server server;

	private final Map<String, Map<Integer, Double>> curves = new LinkedHashMap<>();

	Growth(Scale scale, Database.Server server) {
		this.scale = scale;
		this.server = server;
	}

	/**
	 * Return what has grown how, by the number of roles.
	 * @return name to number to milliseconds
	 */
	Map<String, Map<Integer, Double>> curves() {
		return this.curves;
	}

	Table measureRoles() throws Exception {
		Table table = new Table("More roles, " + this.server.database(),
				"One node that leads, and one that stands by. Election and stop are from the call to the last role; renewal and poll are the one call that each makes for all roles (medians). Heap is what a role takes that is held and runs no work.",
				"roles", "election of all, ms", "renewal, ms", "poll of a standby, ms", "stop with release of all, ms",
				"heap per role, leading, bytes", "standing by, bytes");
		for (int roles : this.scale.roles()) {
			measureRoles(roles, table);
		}
		return table;
	}

	private void measureRoles(int roles, Table table) throws Exception {
		String namespace = "growth-" + roles;
		long heap = usedHeap();
		OurNode leader = new OurNode(this.server.pool(4), namespace, this.scale.settings());
		leader.holding(roles);
		long start = System.nanoTime();
		leader.start();
		Waiting.until("all roles are led", () -> leader.held() == roles);
		double election = Waiting.millisSince(start);
		long leaderHeap = usedHeap() - heap;
		OurNode follower = new OurNode(this.server.pool(4), namespace, this.scale.settings()).holding(roles).start();
		Waiting.pass(this.scale.settings().standbyPollInterval());
		long followerHeap = usedHeap() - heap - leaderHeap;
		Samples poll = new Samples();
		Samples renewal = new Samples();
		try (JdbcDatabase database = JdbcDatabase.builder(this.server.pool(4))
			.connectionTimeout(Duration.ofMinutes(1))
			.queryTimeout(Duration.ofMinutes(1))
			.build()) {
			JdbcLeaseStore store = new JdbcLeaseStore(database, namespace);
			JdbcLeaseStore other = new JdbcLeaseStore(database, "renewed-" + roles);
			List<LeaseRequest> acquisitions = OurNode.roles(roles)
				.stream()
				.map((role) -> LeaseRequest.acquire(role, this.scale.settings().leaseTtl(), 0))
				.toList();
			List<LeaseRequest> renewals = other.tryAcquireOrRenew("owner", acquisitions)
				.stream()
				.map((result) -> LeaseRequest.renew(result.role(), this.scale.settings().leaseTtl(),
						result.fencingToken()))
				.toList();
			for (int round = -1; round < this.scale.rounds(); round++) {
				start = System.nanoTime();
				other.tryAcquireOrRenew("owner", renewals);
				double renewalMillis = Waiting.millisSince(start);
				start = System.nanoTime();
				store.tryAcquireOrRenew("stranger", acquisitions);
				if (round >= 0) {
					poll.add(Waiting.millisSince(start));
					renewal.add(renewalMillis);
				}
			}
		}
		follower.close();
		start = System.nanoTime();
		leader.close();
		double stop = Waiting.millisSince(start);
		table.row(String.format("%,d", roles), election, renewal, poll, stop, perRole(leaderHeap, roles),
				perRole(followerHeap, roles));
		add("renewal", roles, renewal.median());
		add("poll", roles, poll.median());
		add("election", roles, election);
		add("stop", roles, stop);
	}

	private void add(String curve, int roles, double millis) {
		this.curves.computeIfAbsent(curve, (name) -> new LinkedHashMap<>()).put(roles, millis);
	}

	/**
	 * Below that, what a node takes by itself is all that is seen.
	 */
	private static String perRole(long heap, int roles) {
		return (roles < 1000) ? "-" : String.format("%,d", heap / roles);
	}

	private static long usedHeap() throws InterruptedException {
		for (int i = 0; i < 3; i++) {
			System.gc();
			Waiting.pass(Duration.ofMillis(50));
		}
		return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
	}

	Table measureNodes() throws Exception {
		int roles = Math.min(100, this.scale.manyRoles());
		RoleSettings settings = this.scale.settings();
		Table table = new Table("More nodes, " + this.server.database(),
				"All nodes contend for the same %d roles and one leads them; statements per minute, heartbeats included, counted for `%s`."
					.formatted(roles, this.scale.window()),
				"nodes", "statements/min of the leader", "statements/min per standby", "statements/min in all");
		Map<Integer, List<StatementCounter>> counters = new LinkedHashMap<>();
		List<OurNode> nodes = new ArrayList<>();
		try {
			for (int size : this.scale.nodes()) {
				List<StatementCounter> own = new ArrayList<>();
				for (int i = 0; i < size; i++) {
					StatementCounter counter = new StatementCounter();
					OurNode node = new OurNode(this.server.pool(2, counter), "nodes-" + size, settings).holding(roles)
						.start();
					if (i == 0) {
						Waiting.until("all roles are led", () -> node.held() == roles);
					}
					own.add(counter);
					nodes.add(node);
				}
				counters.put(size, own);
			}
			Waiting.pass(settings.renewInterval());
			counters.values().forEach((own) -> own.forEach(StatementCounter::reset));
			Waiting.pass(this.scale.window());
			double perMinute = 60_000.0 / this.scale.window().toMillis();
			counters.forEach((size, own) -> {
				double leader = own.get(0).statements() * perMinute;
				double all = own.stream().mapToLong(StatementCounter::statements).sum() * perMinute;
				table.row(size, leader, (size > 1) ? (all - leader) / (size - 1) : "-", all);
			});
		}
		finally {
			nodes.forEach(OurNode::close);
		}
		return table;
	}

	/**
	 * Three nodes and many roles: all start at once; then one leads all, and dies; then
	 * one that leads stops.
	 */
	Table measureLoss() throws Exception {
		int roles = this.scale.manyRoles();
		RoleSettings settings = RoleSettings.of(this.scale.isSmoke() ? Duration.ofSeconds(2) : Duration.ofSeconds(10));
		Table table = new Table("%,d roles and three nodes, %s".formatted(roles, this.server.database()),
				"TTL `%s`. A lapse is a term that ended although its node was alive.".formatted(settings.leaseTtl()),
				"what", "ms", "lapses");
		try (OurNode a = node("together", settings, roles);
				OurNode b = node("together", settings, roles);
				OurNode c = node("together", settings, roles)) {
			long start = System.nanoTime();
			a.start();
			b.start();
			c.start();
			Waiting.until("all roles are led", () -> a.held() + b.held() + c.held() == roles);
			table.row("three nodes start at once: until all roles are led", Waiting.millisSince(start),
					a.lost() + b.lost() + c.lost());
		}
		try (OurNode a = node("loss", settings, roles);
				OurNode b = node("loss", settings, roles);
				OurNode c = node("loss", settings, roles)) {
			a.start();
			Waiting.until("all roles are led", () -> a.held() == roles);
			b.start();
			c.start();
			Duration steady = settings.leaseTtl().multipliedBy(2);
			Waiting.pass(steady);
			if (a.held() != roles) {
				throw new IllegalStateException("Of %d roles only %d are led".formatted(roles, a.held()));
			}
			table.row("steady for `%s`".formatted(steady), "-", a.lost() + b.lost() + c.lost());
			a.store().die();
			Waiting.pass(settings.standbyPollInterval().dividedBy(2));
			java.time.Instant expiry = b.store()
				.findAll()
				.stream()
				.map(io.github.fencedleadership.lease.Lease::expiresAt)
				.max(java.time.Instant::compareTo)
				.orElseThrow();
			Waiting.until("all roles are taken over", () -> b.held() + c.held() == roles);
			table.row("the node that leads all dies: from the expiry until all roles are led",
					Duration.between(expiry, java.time.Instant.now()).toNanos() / 1e6, b.lost() + c.lost());
			long heldByB = b.held();
			long start = System.nanoTime();
			b.close();
			double stop = Waiting.millisSince(start);
			Waiting.until("all roles are handed over", () -> c.held() == roles);
			table.row("a node that leads %,d stops: until it has".formatted(heldByB), stop, c.lost());
			table.row("until all its roles are led by others", Waiting.millisSince(start), c.lost());
		}
		return table;
	}

	private OurNode node(String namespace, RoleSettings settings, int roles) {
		return new OurNode(this.server.pool(4), namespace, settings).holding(roles);
	}

}
