package io.github.fencedleadership.annotation;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import io.github.fencedleadership.election.RoleStatus;
import io.github.fencedleadership.election.RoleStatus.State;

/**
 * Counts and logs the calls that closed gates turned away. That another node leads is the
 * ordinary case and silent. A call that falls while possibly nobody leads is lost for the
 * whole cluster: it is counted apart, and the first one in a row is logged.
 */
final class SkippedCalls {

	private static final Log logger = LogFactory.getLog(FencedLeader.class);

	private final Map<String, Counts> counts = new ConcurrentHashMap<>();

	void record(String role, String method, Optional<RoleStatus> status) {
		Counts counts = this.counts.computeIfAbsent(role, (key) -> new Counts());
		counts.all.increment();
		State state = status.map(RoleStatus::state).orElse(State.STOPPED);
		// A term that began since the gate looked is not a role without a leader
		if (state == State.STANDBY || state == State.LEADING) {
			counts.reported.set(false);
			if (logger.isDebugEnabled()) {
				logger.debug("Skipped '%s': this node does not lead role '%s'".formatted(method, role));
			}
			return;
		}
		counts.leaderless.increment();
		String message = "Skipped '%s': no leader of role '%s' is known, and this node is %s (%s)".formatted(method,
				role, state, status.map(RoleStatus::reason).orElse("not registered"));
		if (counts.reported.compareAndSet(false, true)) {
			logger.info(message);
		}
		else {
			logger.debug(message);
		}
	}

	void recordEntry(String role) {
		Counts counts = this.counts.get(role);
		if (counts != null) {
			counts.reported.set(false);
		}
	}

	long all(String role) {
		Counts counts = this.counts.get(role);
		return (counts != null) ? counts.all.sum() : 0;
	}

	long leaderless(String role) {
		Counts counts = this.counts.get(role);
		return (counts != null) ? counts.leaderless.sum() : 0;
	}

	private static final class Counts {

		private final LongAdder all = new LongAdder();

		private final LongAdder leaderless = new LongAdder();

		private final AtomicBoolean reported = new AtomicBoolean();

	}

}
