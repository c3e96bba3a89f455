package io.github.fencedleadership.actuate;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.election.LeaderElector;

/**
 * A node by its id.
 *
 * @param id the owner id: the name and the incarnation
 * @param name the configured or host-derived name
 */
public record NodeReference(String id, String name) {

	static NodeReference of(String id) {
		int separator = id.lastIndexOf('#');
		return new NodeReference(id, (separator > 0) ? id.substring(0, separator) : id);
	}

	/**
	 * Return the node of an elector.
	 * @param elector the elector
	 * @return the node, {@code null} before the elector was first started
	 */
	static @Nullable NodeReference ofThisNode(LeaderElector elector) {
		try {
			return of(elector.ownerId());
		}
		catch (IllegalStateException ex) {
			return null;
		}
	}

}
