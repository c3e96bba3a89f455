package io.github.fencedleadership.benchmarks;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DelegatingDataSource;

import io.github.fencedleadership.election.RoleSettings;

/**
 * How long a role is without a leader.
 */
final class Latencies {

	private static final int PEER_SAMPLES = 20;

	private final Scale scale;

	private final Database.Server server;

	Latencies(Scale scale, Database.Server server) {
		this.scale = scale;
		this.server = server;
	}

	void measureHandOver(Table table) throws Exception {
		report(table, "ours", "hand-over, from the release being sent", handOver());
		if (this.server.database() == Database.POSTGRESQL) {
			report(table, "Spring Integration 7.1", "hand-over, from `stop()`", peerHandOver());
		}
	}

	void measureTakeover(Table table) throws Exception {
		Duration ttl = this.scale.isSmoke() ? Duration.ofSeconds(1) : Duration.ofSeconds(3);
		report(table, "ours", "takeover, from the lease's expiry, TTL `%s`".formatted(ttl), takeover(ttl));
		if (this.server.database() == Database.POSTGRESQL) {
			report(table, "Spring Integration 7.1", "takeover, from the lock's expiry, TTL `%s`".formatted(ttl),
					peerTakeover(ttl));
		}
	}

	private void report(Table table, String who, String what, Samples samples) {
		table.row(this.server.database(), who, what, samples.count(), samples, samples.p99(), samples.spread());
	}

	private Samples handOver() throws Exception {
		int count = (this.server.database() == Database.POSTGRESQL) ? this.scale.handOvers()
				: Math.min(this.scale.handOvers(), PEER_SAMPLES);
		Samples samples = new Samples();
		Map<String, Long> releases = new ConcurrentHashMap<>();
		Map<String, Boolean> taken = new ConcurrentHashMap<>();
		OurNode leader = new OurNode(this.server.pool(4), "hand-over", this.scale.settings());
		OurNode successor = new OurNode(this.server.pool(4), "hand-over", this.scale.settings());
		try (leader; successor) {
			for (String role : OurNode.roles(count)) {
				leader.working(role, (leadership) -> {
				});
			}
			leader.start();
			Waiting.until("all roles are led", () -> leader.held() == count);
			for (String role : OurNode.roles(count)) {
				successor.working(role, (leadership) -> {
					long now = System.nanoTime();
					Long released = releases.get(role);
					if (released != null && taken.putIfAbsent(role, true) == null) {
						samples.add((now - released) / 1e6);
					}
				});
			}
			successor.start();
			Waiting.pass(this.scale.settings().standbyPollInterval());
			leader.store().beforeRelease((role) -> releases.put(role, System.nanoTime()));
			for (String role : OurNode.roles(count)) {
				leader.elector().stepDown(role);
				TimeUnit.MILLISECONDS.sleep(20);
			}
			Waiting.until("all roles are handed over", () -> samples.count() == count);
		}
		return samples;
	}

	private Samples peerHandOver() throws Exception {
		int count = Math.min(this.scale.handOvers(), PEER_SAMPLES);
		Samples samples = new Samples();
		Map<String, Long> stops = new ConcurrentHashMap<>();
		Map<String, Boolean> led = new ConcurrentHashMap<>();
		List<String> roles = OurNode.roles(count).stream().map("hand-over-"::concat).toList();
		Duration ttl = this.scale.settings().leaseTtl();
		Peers.SpringIntegrationNode leader = new Peers.SpringIntegrationNode(this.server.pool(4), ttl, roles,
				(role) -> led.put(role, true));
		Peers.SpringIntegrationNode successor = new Peers.SpringIntegrationNode(this.server.pool(4), ttl, roles,
				(role) -> samples.add(Waiting.millisSince(Objects.requireNonNull(stops.get(role)))));
		try (leader; successor) {
			leader.start();
			Waiting.until("all roles are led", () -> led.size() == count);
			successor.start();
			Waiting.pass(Duration.ofSeconds(1));
			for (int i = 0; i < count; i++) {
				stops.put(roles.get(i), System.nanoTime());
				leader.initiators().get(i).stop();
			}
			Waiting.until("all roles are handed over", () -> samples.count() == count);
		}
		return samples;
	}

	private Samples takeover(Duration ttl) throws Exception {
		Samples samples = new Samples();
		List<Thread> threads = new ArrayList<>();
		Map<Integer, Exception> failures = new ConcurrentHashMap<>();
		for (int i = 0; i < this.scale.takeoverPairs(); i++) {
			int pair = i;
			Thread thread = new Thread(() -> {
				try {
					// So that they do not all die at once
					Waiting.pass(ttl.dividedBy(10).multipliedBy(pair));
					takeover("takeover-" + pair, ttl, samples);
				}
				catch (Exception ex) {
					failures.put(pair, ex);
				}
			});
			thread.start();
			threads.add(thread);
		}
		for (Thread thread : threads) {
			thread.join();
		}
		for (Exception failure : failures.values()) {
			throw failure;
		}
		return samples;
	}

	private void takeover(String namespace, Duration ttl, Samples samples) throws Exception {
		RoleSettings settings = RoleSettings.of(ttl);
		Map<Integer, Instant> starts = new ConcurrentHashMap<>();
		OurNode[] nodes = new OurNode[2];
		for (int i = 0; i < 2; i++) {
			int node = i;
			nodes[i] = new OurNode(this.server.pool(4), namespace, settings).working("reports",
					(leadership) -> starts.put(node, Instant.now()));
		}
		try (OurNode first = nodes[0]; OurNode second = nodes[1]) {
			first.start();
			Waiting.until("the role is led", () -> starts.containsKey(0));
			second.start();
			Waiting.pass(settings.renewInterval());
			for (int round = 0; round < this.scale.takeoverRounds(); round++) {
				int leading = starts.containsKey(0) ? 0 : 1;
				starts.clear();
				nodes[leading].store().die();
				// What is under way arrives
				Waiting.pass(settings.standbyPollInterval().dividedBy(2));
				OurNode successor = nodes[1 - leading];
				Instant expiry = successor.store().find("reports").orElseThrow().expiresAt();
				Waiting.until("the role is taken over", () -> starts.containsKey(1 - leading));
				samples.add(Duration.between(expiry, starts.get(1 - leading)).toNanos() / 1e6);
				nodes[leading].store().live();
				Waiting.pass(settings.renewInterval());
			}
		}
	}

	private Samples peerTakeover(Duration ttl) throws Exception {
		int count = this.scale.isSmoke() ? 2 : PEER_SAMPLES;
		Samples samples = new Samples();
		JdbcTemplate jdbc = new JdbcTemplate(this.server.dataSource());
		Map<String, Boolean> led = new ConcurrentHashMap<>();
		Map<String, Instant> starts = new ConcurrentHashMap<>();
		List<String> roles = OurNode.roles(count).stream().map("takeover-"::concat).toList();
		AtomicBoolean dead = new AtomicBoolean();
		Peers.SpringIntegrationNode leader = new Peers.SpringIntegrationNode(
				new DelegatingDataSource(this.server.pool(4)) {

					@Override
					public Connection getConnection() throws SQLException {
						if (dead.get()) {
							// Slow, for it is asked again at once
							try {
								TimeUnit.MILLISECONDS.sleep(200);
							}
							catch (InterruptedException ex) {
								Thread.currentThread().interrupt();
							}
							throw new SQLException("Cut off");
						}
						return super.getConnection();
					}

				}, ttl, roles, (role) -> led.put(role, true));
		Peers.SpringIntegrationNode successor = new Peers.SpringIntegrationNode(this.server.pool(4), ttl, roles,
				(role) -> starts.put(role, Instant.now()));
		try (leader; successor) {
			leader.start();
			Waiting.until("all roles are led", () -> led.size() == count);
			successor.start();
			Waiting.pass(Duration.ofSeconds(1));
			dead.set(true);
			Waiting.pass(Duration.ofMillis(200));
			Map<String, Instant> expiries = new ConcurrentHashMap<>();
			for (String role : roles) {
				LocalDateTime expiry = jdbc.queryForObject("SELECT EXPIRED_AFTER FROM INT_LOCK WHERE LOCK_KEY = ?",
						LocalDateTime.class, UUID.nameUUIDFromBytes(role.getBytes(StandardCharsets.UTF_8)).toString());
				if (expiry != null) {
					expiries.put(role, expiry.toInstant(ZoneOffset.UTC));
				}
			}
			Waiting.until("all roles are taken over", () -> starts.size() == count);
			dead.set(false);
			starts.forEach((role, start) -> samples.add(Duration.between(expiries.get(role), start).toNanos() / 1e6));
		}
		return samples;
	}

}
