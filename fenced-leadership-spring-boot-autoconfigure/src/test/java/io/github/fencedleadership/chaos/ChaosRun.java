package io.github.fencedleadership.chaos;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.github.fencedleadership.chaos.History.Term;
import io.github.fencedleadership.chaos.HistoryEvent.Kind;

/**
 * A cluster on a database server of its own, and the faults that it goes through.
 */
final class ChaosRun implements AutoCloseable {

	static final Duration TTL = Duration.ofMillis(Integer.getInteger("chaos.ttl", 1500));

	private static final List<String> NODES = List.of("node-a", "node-b", "node-c");

	private static final List<String> ROLES = List.of("red", "blue");

	private final ChaosCluster cluster;

	private final Random random;

	private final Map<Fault, AtomicInteger> injected = new EnumMap<>(Fault.class);

	private DatabaseServer server;

	private boolean longTtl;

	/** Whether nothing else goes wrong at the same time. */
	private volatile boolean alone;

	private ChaosRun(DatabaseServer server, long seed) {
		this.server = server;
		this.random = new Random(seed);
		this.cluster = new ChaosCluster(server.schema(), TTL, ROLES, true);
	}

	/**
	 * Start the nodes.
	 * @param server the server, closed with the run
	 * @param seed decides on what is done at random
	 * @return the run, which has to be closed
	 * @throws Exception if the nodes do not come up
	 */
	static ChaosRun start(DatabaseServer server, long seed) throws Exception {
		ChaosRun run = new ChaosRun(server, seed);
		try {
			NODES.forEach(run.cluster::start);
			run.cluster.awaitProgress();
			return run;
		}
		catch (Throwable ex) {
			run.close();
			throw ex;
		}
	}

	ChaosCluster cluster() {
		return this.cluster;
	}

	DatabaseServer server() {
		return this.server;
	}

	void moveTo(DatabaseServer server) {
		this.server = server;
		this.cluster.moveTo(server.schema());
	}

	/**
	 * Return for how long a fault lasts that has to outlive a lease.
	 * @return the duration
	 */
	Duration holdTime() {
		return TTL.multipliedBy(5).dividedBy(4);
	}

	Duration nextTtl() {
		this.longTtl = !this.longTtl;
		return this.longTtl ? TTL.multipliedBy(3).dividedBy(2) : TTL;
	}

	boolean leads(TcpProxy network) {
		return ROLES.stream()
			.flatMap((role) -> this.cluster.leader(role).stream())
			.anyMatch((leader) -> leader.node().network() == network);
	}

	void expectSuccessor(Term term, Fault fault) {
		if (this.alone) {
			this.cluster.expectSuccessor(term, fault.name());
		}
	}

	void expectRelease(Term term) {
		if (this.alone) {
			this.cluster.history().expectRelease(term);
		}
	}

	/**
	 * Return which faults have happened, and how often.
	 * @return the numbers by fault
	 */
	Map<Fault, AtomicInteger> injected() {
		return this.injected;
	}

	/**
	 * Return what writes have failed with, and how often.
	 * @return the numbers by exception
	 */
	Map<String, Long> failures() {
		return this.cluster.history()
			.events()
			.stream()
			.filter((event) -> event.kind() == Kind.FAILED)
			.collect(Collectors.groupingBy(HistoryEvent::detail, TreeMap::new, Collectors.counting()));
	}

	/**
	 * Let faults happen, all of them at once, and wait until all is well again.
	 * @param faults the faults
	 * @throws Exception if one of them cannot be done
	 */
	void inject(Fault... faults) throws Exception {
		this.alone = faults.length == 1;
		System.out.printf("[chaos] %s %s%n", Instant.now().truncatedTo(ChronoUnit.SECONDS), List.of(faults));
		List<CompletableFuture<Void>> running = new ArrayList<>();
		for (Fault fault : faults) {
			String role = ROLES.get(this.random.nextInt(ROLES.size()));
			CompletableFuture<Void> done = new CompletableFuture<>();
			running.add(done);
			Thread thread = new Thread(() -> {
				try {
					fault.inject(this, role);
					done.complete(null);
				}
				catch (Throwable ex) {
					done.completeExceptionally(ex);
				}
			}, "fault-" + fault);
			thread.setDaemon(true);
			thread.start();
			this.injected.computeIfAbsent(fault, (first) -> new AtomicInteger()).incrementAndGet();
		}
		for (CompletableFuture<Void> done : running) {
			done.get();
		}
		this.cluster.awaitProgress();
	}

	/**
	 * Let faults happen at random, two at once every now and then.
	 * @param count how many
	 * @param possible which are possible
	 * @throws Exception if one of them cannot be done
	 */
	void injectAtRandom(int count, Predicate<Fault> possible) throws Exception {
		int done = 0;
		while (done < count) {
			Fault fault = next(possible);
			Fault other = next(possible);
			boolean together = fault.place() != other.place() && fault.place() != Fault.Place.EVERYWHERE
					&& other.place() != Fault.Place.EVERYWHERE;
			if (together) {
				inject(fault, other);
			}
			else {
				inject(fault);
			}
			done += together ? 2 : 1;
		}
	}

	private Fault next(Predicate<Fault> possible) {
		List<Fault> faults = Stream.of(Fault.values()).filter(possible).toList();
		return faults.get(this.random.nextInt(faults.size()));
	}

	/**
	 * Show that no node has given up, stop them, and check all that has happened.
	 * @return what contradicts the guarantees
	 */
	List<String> finish() {
		this.cluster.letEachLead();
		this.cluster.finish();
		return new HistoryChecker(this.cluster.history()).check();
	}

	@Override
	public void close() throws Exception {
		this.cluster.close();
		this.server.close();
	}

	@Override
	public String toString() {
		StringBuilder result = new StringBuilder();
		int all = this.injected.values().stream().mapToInt(AtomicInteger::get).sum();
		result.append("%d faults with leases of %s".formatted(all, TTL));
		for (Kind kind : Kind.values()) {
			result.append("%n  %-16s %d".formatted(kind, this.cluster.count(kind)));
		}
		failures().forEach((exception, count) -> result.append("%n  failed with %s: %d".formatted(exception, count)));
		this.injected.forEach((fault, count) -> result.append("%n  %-24s %d".formatted(fault, count.get())));
		new HistoryChecker(this.cluster.history()).gaps()
			.forEach((gap) -> result.append("%n  leaderless after ".formatted()).append(gap));
		return result.toString();
	}

}
