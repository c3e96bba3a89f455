package io.github.fencedleadership.autoconfigure;

import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.context.SmartLifecycle;

import io.github.fencedleadership.election.DefaultLeaderElector;
import io.github.fencedleadership.election.RoleStatus;

/**
 * Begins to contend once everything else has been started, and drains before anything
 * else that work may need is stopped, the graceful shutdown of the web server included.
 */
class ContentionLifecycle implements SmartLifecycle {

	/**
	 * Above the web server, and below what declares no phase.
	 */
	static final int PHASE = SmartLifecycle.DEFAULT_PHASE - 100;

	private static final Log logger = LogFactory.getLog(ContentionLifecycle.class);

	private final DefaultLeaderElector elector;

	private final Set<String> configuredRoles;

	private volatile boolean running;

	ContentionLifecycle(DefaultLeaderElector elector, Set<String> configuredRoles) {
		this.elector = elector;
		this.configuredRoles = configuredRoles;
	}

	@Override
	public void start() {
		warnOfUnknownRoles();
		this.elector.contend();
		this.running = true;
	}

	private void warnOfUnknownRoles() {
		Set<String> known = this.elector.statuses().stream().map(RoleStatus::role).collect(Collectors.toSet());
		Set<String> unknown = new TreeSet<>(this.configuredRoles);
		unknown.removeAll(known);
		unknown.forEach((role) -> logger.warn(
				"Properties under 'fenced-leadership.roles.%s' are for a role that nothing is registered for. Check its name; the roles registered so far are %s"
					.formatted(role, new TreeSet<>(known))));
	}

	@Override
	public void stop(Runnable callback) {
		this.running = false;
		this.elector.drain(callback);
	}

	@Override
	public void stop() {
		stop(() -> {
		});
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

}
