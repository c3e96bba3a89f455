package io.github.fencedleadership.autoconfigure;

import org.springframework.context.SmartLifecycle;

import io.github.fencedleadership.election.DefaultLeaderElector;

/**
 * Makes the node known before the web server starts, and keeps leases and heartbeats
 * going until after it has stopped.
 */
class RenewalLifecycle implements SmartLifecycle {

	/**
	 * Below the web server, and so started before it and stopped after it.
	 */
	static final int PHASE = SmartLifecycle.DEFAULT_PHASE - 4096;

	private final DefaultLeaderElector elector;

	RenewalLifecycle(DefaultLeaderElector elector) {
		this.elector = elector;
	}

	@Override
	public void start() {
		this.elector.start();
	}

	@Override
	public void stop() {
		this.elector.stop();
	}

	@Override
	public boolean isRunning() {
		return this.elector.isRunning();
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

}
