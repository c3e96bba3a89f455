package io.github.fencedleadership.sample.launcher;

import java.time.Clock;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Entries;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Node;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.ProcessState;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Refusal;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Role;
import io.github.fencedleadership.sample.launcher.NodeReader.Answer;

/**
 * Looks at the cluster again and again, and logs what has changed. A look takes a few
 * seconds at most, whatever state the nodes are in.
 * <p>
 * Thread-safe.
 */
final class ClusterWatch {

	private static final Duration INTERVAL = Duration.ofMillis(500);

	private final Map<String, ClusterNode> nodes = new LinkedHashMap<>();

	private final NodeReader nodeReader;

	private final LedgerReader ledgerReader;

	private final EventLog events;

	private final Clock clock;

	/**
	 * The last known term of each role, guarded by this.
	 */
	private final Map<String, Role> lastRoles = new HashMap<>();

	/**
	 * The last known refusal, guarded by this.
	 */
	private long lastRefusal;

	private volatile ClusterSnapshot latest;

	ClusterWatch(List<ClusterNode> nodes, NodeReader nodeReader, LedgerReader ledgerReader, EventLog events,
			Clock clock) {
		nodes.forEach((node) -> this.nodes.put(node.name(), node));
		this.nodeReader = nodeReader;
		this.ledgerReader = ledgerReader;
		this.events = events;
		this.clock = clock;
		this.latest = new ClusterSnapshot(clock.instant(), List.of(), List.of(), Entries.NONE);
	}

	/**
	 * Begin to look, until this process ends.
	 */
	void start() {
		Thread thread = new Thread(() -> {
			while (!Thread.currentThread().isInterrupted()) {
				look();
				try {
					Thread.sleep(INTERVAL.toMillis());
				}
				catch (InterruptedException ex) {
					Thread.currentThread().interrupt();
				}
			}
		}, "cluster-watch");
		thread.setDaemon(true);
		thread.start();
	}

	/**
	 * Return what was seen last. Does not wait.
	 * @return what was seen
	 */
	ClusterSnapshot latest() {
		return this.latest;
	}

	/**
	 * Look now.
	 */
	synchronized void look() {
		Map<String, ProcessState> processes = new HashMap<>();
		Map<String, CompletableFuture<@Nullable Answer>> answers = new HashMap<>();
		this.nodes.forEach((name, node) -> {
			ProcessState process = stateOf(node);
			processes.put(name, process);
			if (process == ProcessState.RUNNING) {
				answers.put(name, this.nodeReader.read(node));
			}
		});
		Entries entries = this.ledgerReader.read();
		Answer told = answers.values()
			.stream()
			.map(CompletableFuture::join)
			.filter(Objects::nonNull)
			.filter((answer) -> !answer.roles().isEmpty())
			.findFirst()
			.orElse(new Answer(Map.of(), List.of(), Map.of()));
		List<Node> seen = this.nodes.values().stream().map((node) -> {
			CompletableFuture<@Nullable Answer> future = answers.get(node.name());
			Answer answer = (future != null) ? future.join() : null;
			return new Node(node.name(), node.port(), node.pid(), Objects.requireNonNull(processes.get(node.name())),
					node.isWedged(), answer != null, (answer != null) ? answer.states() : Map.of(),
					told.heartbeats().get(node.name()));
		}).toList();
		ClusterSnapshot snapshot = new ClusterSnapshot(this.clock.instant(), seen, told.roles(), entries);
		logChanges(this.latest, snapshot);
		this.latest = snapshot;
	}

	private static ProcessState stateOf(ClusterNode node) {
		if (!node.isAlive()) {
			return ProcessState.DEAD;
		}
		return node.isFrozen() ? ProcessState.FROZEN : ProcessState.RUNNING;
	}

	private void logChanges(ClusterSnapshot before, ClusterSnapshot after) {
		after.nodes().forEach((node) -> before.node(node.name()).ifPresent((earlier) -> logChange(earlier, node)));
		after.roles().forEach(this::logChange);
		after.entries()
			.refusals()
			.stream()
			.filter((refusal) -> refusal.id() > this.lastRefusal)
			.sorted(Comparator.comparing(Refusal::id))
			.forEach(this::logRefusal);
	}

	private void logChange(Node before, Node after) {
		if (before.process() != after.process()) {
			this.events.add(EventLog.Kind.PROCESS, "%s %s".formatted(after.name(), describe(before.process(), after)));
		}
		if (before.wedged() != after.wedged() && after.process() != ProcessState.DEAD) {
			this.events.add(EventLog.Kind.PROCESS, "The job of %s %s".formatted(after.name(),
					after.wedged() ? "is stuck, and its process is well" : "gets on"));
		}
	}

	private void logRefusal(Refusal refusal) {
		this.lastRefusal = refusal.id();
		this.events.add(EventLog.Kind.REFUSAL, "The guard refused '%s' of %s: its token %d is over, %d is known"
			.formatted(refusal.entry(), refusal.node(), refusal.token(), refusal.newerToken()));
	}

	private static String describe(ProcessState before, Node node) {
		return switch (node.process()) {
			case FROZEN -> "is frozen";
			case DEAD -> "is dead";
			case RUNNING -> (before == ProcessState.FROZEN) ? "runs on" : "was started, as process " + node.pid();
		};
	}

	private void logChange(Role role) {
		Role before = this.lastRoles.put(role.name(), role);
		if (role.leader() != null && (before == null || before.token() < role.token())) {
			this.events.add(EventLog.Kind.LEADERSHIP,
					"%s leads '%s' with token %d".formatted(role.leader(), role.name(), role.token()));
		}
		else if (role.leader() == null && before != null && before.leader() != null) {
			this.events.add(EventLog.Kind.LEADERSHIP, "Nobody leads '%s': the lease of %s, token %d, is over"
				.formatted(role.name(), before.leader(), before.token()));
		}
	}

}
