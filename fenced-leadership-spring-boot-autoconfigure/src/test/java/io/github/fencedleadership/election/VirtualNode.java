package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;

import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseStore;

/**
 * A node in virtual time: the real {@link ElectionCore}, driven by hand instead of by
 * threads. Its work ends when it is interrupted, unless it is stubborn.
 */
final class VirtualNode {

	final String ownerId;

	final ManualClock clock;

	final ElectionCore core;

	final List<String> events = new ArrayList<>();

	final Map<ActiveWork, Boolean> running = new LinkedHashMap<>();

	LeaseStore store;

	boolean stubborn;

	int statements;

	int releases;

	VirtualNode(String ownerId, ManualClock clock, LeaseStore store, RoleSettings settings, Duration drainTimeout) {
		this.ownerId = ownerId;
		this.clock = clock;
		this.store = store;
		this.core = new ElectionCore(clock, new Random(1)::nextDouble, new RecordingHost(), (role) -> settings,
				drainTimeout);
		this.core.start(ownerId);
		this.core.contend();
	}

	void register(String role) {
		this.core.register(LeaderTask.of(role, (leadership) -> {
		}));
	}

	/**
	 * Do whatever is due now.
	 */
	void run() {
		boolean busy = true;
		while (busy) {
			busy = false;
			this.core.tick();
			endInterruptedWork();
			if (this.clock.nanos() >= this.core.nextRound()) {
				answer(this.core.beginRound());
				busy = true;
			}
		}
	}

	/**
	 * Let time pass, and do what comes due.
	 */
	void advance(Duration duration) {
		long end = this.clock.nanos() + duration.toNanos();
		run();
		while (nextInstant() <= end) {
			this.clock.advanceTo(Math.max(nextInstant(), this.clock.nanos() + 1));
			run();
		}
		this.clock.advanceTo(end);
	}

	long nextInstant() {
		return Math.min(this.core.nextRound(), this.core.nextTimer());
	}

	void answer(ElectionCore.Round round) {
		List<ElectionCore.Round.LeaseCall> calls = round.leaseCalls();
		if (!calls.isEmpty()) {
			this.statements++;
			long sentAt = this.clock.nanos();
			long wallSentAt = this.clock.wallMillis();
			List<LeaseRequest> requests = calls.stream().map(ElectionCore.Round.LeaseCall::request).toList();
			try {
				List<LeaseResult> results = this.store.tryAcquireOrRenew(this.ownerId, requests);
				for (int i = 0; i < calls.size(); i++) {
					this.core.answered(calls.get(i), sentAt, wallSentAt, results.get(i));
				}
			}
			catch (IllegalStateException ex) {
				calls.forEach((call) -> this.core.unanswered(call.request().role(), call.requestId()));
			}
		}
		for (ElectionCore.Round.ReleaseCall call : round.releaseCalls()) {
			this.statements++;
			this.releases++;
			try {
				OptionalLong token = call.token();
				if (token.isEmpty()) {
					token = this.store.find(call.role())
						.filter((lease) -> lease.isLive() && lease.ownerId().equals(this.ownerId))
						.map((lease) -> OptionalLong.of(lease.fencingToken()))
						.orElse(OptionalLong.empty());
				}
				if (token.isPresent()) {
					this.store.release(call.role(), call.ownerId(), token.getAsLong());
				}
				this.core.released(call);
			}
			catch (IllegalStateException ex) {
				this.core.unanswered(call.role(), call.requestId());
			}
		}
	}

	void endInterruptedWork() {
		if (!this.stubborn) {
			List.copyOf(this.running.keySet()).stream().filter(this.running::get).forEach((work) -> end(work, null));
		}
	}

	void end(ActiveWork work, Throwable failure) {
		this.running.remove(work);
		this.events.add("ended " + work.fencingToken());
		this.core.workEnded(work, failure);
	}

	ActiveWork work() {
		return this.running.keySet().iterator().next();
	}

	RoleStatus.State state(String role) {
		return this.core.status(role).state();
	}

	boolean isLive(String role) {
		return this.store.find(role).map(Lease::isLive).orElse(false);
	}

	private final class RecordingHost implements ElectionCore.Host {

		@Override
		public void start(ActiveWork work) {
			work.begin();
			VirtualNode.this.running.put(work, false);
			VirtualNode.this.events.add("started " + work.fencingToken());
		}

		@Override
		public void interrupt(ActiveWork work) {
			VirtualNode.this.running.put(work, true);
		}

		@Override
		public void granted(FencingToken token, Duration ttl) {
			VirtualNode.this.events.add("granted " + token);
		}

		@Override
		public void revoked(FencingToken token, RevocationReason reason, String detail) {
			VirtualNode.this.events.add("revoked " + token + " " + reason);
		}

		@Override
		public void stalled(ActiveWork work, Duration silence) {
			VirtualNode.this.events.add("stalled " + work.fencingToken());
		}

		@Override
		public void silent(ActiveWork work, Duration silence) {
			VirtualNode.this.events.add("silent " + work.fencingToken());
		}

	}

}
