package io.github.fencedleadership.sample.launcher;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

/**
 * What was seen of the cluster at one moment.
 *
 * @param at the moment
 * @param nodes the nodes, by name
 * @param roles the roles as told by a node that answered, by name; empty if none did
 * @param entries what is in the database
 */
record ClusterSnapshot(Instant at, List<Node> nodes, List<Role> roles, Entries entries) {

	Optional<Node> node(String name) {
		return this.nodes.stream().filter((node) -> node.name().equals(name)).findFirst();
	}

	Optional<Role> role(String name) {
		return this.roles.stream().filter((role) -> role.name().equals(name)).findFirst();
	}

	/**
	 * A node.
	 *
	 * @param name its name
	 * @param port the port it listens at
	 * @param pid the id of its process
	 * @param process how its process is
	 * @param wedged whether its job was made to be stuck
	 * @param answering whether it answered
	 * @param states what it says it is to each role
	 * @param lastHeartbeat its last sign of life if it is listed as live, else
	 * {@code null}
	 */
	record Node(String name, int port, long pid, ProcessState process, boolean wedged, boolean answering,
			Map<String, String> states, @Nullable Instant lastHeartbeat) {

	}

	/**
	 * How a process is.
	 */
	enum ProcessState {

		/** It runs. */
		RUNNING,

		/** It was stopped by a signal, and would run on. */
		FROZEN,

		/** It has ended. */
		DEAD

	}

	/**
	 * A role and its lease.
	 *
	 * @param name its name
	 * @param leader the name of the node that leads it, {@code null} if none does
	 * @param token the fencing token of the current term, or of the last one
	 * @param acquiredAt since when, {@code null} if unknown
	 * @param ttl how long the lease is after a renewal
	 * @param remaining how much of it is left
	 */
	record Role(String name, @Nullable String leader, long token, @Nullable Instant acquiredAt, Duration ttl,
			Duration remaining) {

	}

	/**
	 * What is in the database.
	 *
	 * @param terms the terms that something was written in, the latest first
	 * @param refusals the refused writes, the latest first
	 * @param error why that is not known, {@code null} if it is
	 */
	record Entries(List<Term> terms, List<Refusal> refusals, @Nullable String error) {

		static final Entries NONE = new Entries(List.of(), List.of(), null);

	}

	/**
	 * What was written in one term.
	 *
	 * @param role the role
	 * @param token the fencing token
	 * @param node the name of the node
	 * @param count the number of its rows
	 * @param last the last of them
	 * @param lastAt when that was written
	 */
	record Term(String role, long token, String node, long count, String last, Instant lastAt) {

	}

	/**
	 * A refused write.
	 *
	 * @param id its number
	 * @param at when it was refused
	 * @param resource what was to be written to
	 * @param token the token of the writer
	 * @param newerToken the higher token that was known
	 * @param node the name of the node
	 * @param entry what it wanted to write
	 */
	record Refusal(long id, Instant at, String resource, long token, long newerToken, String node, String entry) {

	}

}
