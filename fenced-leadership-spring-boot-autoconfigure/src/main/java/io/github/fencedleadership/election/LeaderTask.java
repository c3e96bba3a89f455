package io.github.fencedleadership.election;

import java.util.Objects;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.lease.Roles;

/**
 * An interest in a role: to do work whenever this node leads it, or only to hold it so
 * that callers can {@link LeaderElector#enter enter} it. Several tasks may share a role;
 * they share its term.
 *
 * @param role the role
 * @param description what is run, for logs and errors: {@code reports.send()}
 * @param settings the settings of the role, {@code null} for those of the elector
 * @param work the work to run once per term, {@code null} for a task that only holds the
 * role
 */
public record LeaderTask(String role, String description, @Nullable RoleSettings settings, @Nullable LeaderWork work) {

	public LeaderTask {
		Roles.validate(role);
		Objects.requireNonNull(description, "'description' must not be null");
	}

	/**
	 * A task that does work whenever this node leads.
	 * @param role the role
	 * @param work the work to run once per term
	 * @return the task
	 */
	public static LeaderTask of(String role, LeaderWork work) {
		Objects.requireNonNull(work, "'work' must not be null");
		return new LeaderTask(role, describe(work.getClass().getName()), null, work);
	}

	private static String describe(String className) {
		int lambda = className.indexOf("$$Lambda");
		return (lambda < 0) ? className : className.substring(0, lambda) + " (lambda)";
	}

	/**
	 * A task that holds the role for those who {@link LeaderElector#enter enter} it.
	 * @param role the role
	 * @return the task
	 */
	public static LeaderTask holding(String role) {
		return new LeaderTask(role, "holds " + role, null, null);
	}

}
