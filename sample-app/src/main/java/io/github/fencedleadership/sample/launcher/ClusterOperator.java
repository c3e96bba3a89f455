package io.github.fencedleadership.sample.launcher;

import java.io.IOException;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Node;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Role;

/**
 * Does to the real processes what the page has buttons for.
 * <p>
 * Thread-safe.
 */
final class ClusterOperator {

	private final Map<String, ClusterNode> nodes = new LinkedHashMap<>();

	private final ClusterWatch watch;

	private final NodeReader nodeReader;

	private final EventLog events;

	private final BiConsumer<ClusterNode, Integer> onExit;

	/**
	 * Create an operator.
	 * @param nodes the nodes
	 * @param watch what is known of them
	 * @param nodeReader how to ask them
	 * @param events where to say what was done, or why not
	 * @param onExit is given each node that has ended after it was started here, and its
	 * exit code
	 */
	ClusterOperator(List<ClusterNode> nodes, ClusterWatch watch, NodeReader nodeReader, EventLog events,
			BiConsumer<ClusterNode, Integer> onExit) {
		nodes.forEach((node) -> this.nodes.put(node.name(), node));
		this.watch = watch;
		this.nodeReader = nodeReader;
		this.events = events;
		this.onExit = onExit;
	}

	/**
	 * Do something, and look at what has become of it.
	 * @param action what to do
	 * @param target the name of the node or role to do it to
	 * @return whether there is such an action and such a target
	 */
	boolean perform(String action, String target) {
		boolean known;
		try {
			known = action.equals("step-down") ? stepDown(target) : performOnNode(action, this.nodes.get(target));
		}
		catch (IOException ex) {
			this.events.add(EventLog.Kind.FAILURE, "'%s' of %s failed: %s".formatted(action, target, ex.getMessage()));
			known = true;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			known = true;
		}
		this.watch.look();
		return known;
	}

	private boolean performOnNode(String action, @Nullable ClusterNode node) throws IOException {
		if (node == null) {
			return false;
		}
		switch (action) {
			case "freeze" -> node.freeze();
			case "resume" -> node.resume();
			case "kill" -> node.kill();
			case "start" -> node.start((exitCode) -> this.onExit.accept(node, exitCode));
			case "wedge" -> node.wedge(true);
			case "free" -> node.wedge(false);
			default -> {
				return false;
			}
		}
		return true;
	}

	/**
	 * Any node passes the request on to the leader. One that answers is the best to ask.
	 */
	private boolean stepDown(String roleName) throws IOException, InterruptedException {
		Role role = this.watch.latest().role(roleName).orElse(null);
		if (role == null) {
			return false;
		}
		ClusterNode node = this.watch.latest()
			.nodes()
			.stream()
			.filter(Node::answering)
			.min(Comparator.comparing((candidate) -> !candidate.name().equals(role.leader())))
			.map((answering) -> this.nodes.get(answering.name()))
			.orElseThrow(() -> new IOException("No node answers"));
		this.nodeReader.ask(node, roleName, "step-down");
		this.events.add(EventLog.Kind.LEADERSHIP, "%s was asked to hand over '%s'"
			.formatted(Objects.requireNonNullElse(role.leader(), "The leader"), roleName));
		return true;
	}

}
