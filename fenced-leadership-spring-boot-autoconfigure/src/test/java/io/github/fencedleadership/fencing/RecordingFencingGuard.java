package io.github.fencedleadership.fencing;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * An in-memory guard that records what it was asked, and whether in a transaction.
 */
public final class RecordingFencingGuard implements FencingGuard {

	private final InMemoryFencingGuard delegate = new InMemoryFencingGuard();

	private final List<String> events = new CopyOnWriteArrayList<>();

	public List<String> events() {
		return this.events;
	}

	public void record(String event) {
		this.events
			.add(event + (TransactionSynchronizationManager.isActualTransactionActive() ? " inside" : " outside"));
	}

	@Override
	public void prepare(String resource, FencingToken token) {
		record("prepare " + resource + " " + token);
	}

	@Override
	public void check(String resource, FencingToken token) {
		record("check " + resource + " " + token);
		this.delegate.check(resource, token);
	}

}
