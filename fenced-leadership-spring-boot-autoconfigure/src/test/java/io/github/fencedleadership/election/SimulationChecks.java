package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.election.Simulation.Fault;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseResult.Outcome;

/**
 * What has to be true of a {@link Simulation}. Looks at the rows of the store and at what
 * the nodes are told and do, and shares no code with either.
 */
final class SimulationChecks {

	private final Simulation simulation;

	private final Map<String, Row> rows = new TreeMap<>();

	/** Terms that were released, which a step back of the store's clock revives. */
	private final Set<Row> released = new HashSet<>();

	private final Map<String, Long> leaderlessSince = new HashMap<>();

	private long elections;

	/** When something last happened that explains a role without a leader. */
	private long disturbedAt;

	private long faultAt;

	/** Until when belief may be wrong, as the store's clock or its rows have gone. */
	private long beliefExcusedUntil;

	private boolean setBack;

	/** Until when a lease may live longer, as the store's clock was set back. */
	private long lapsesBefore;

	private long calmLed;

	private long calmTotal;

	private long calmLookedAt;

	SimulationChecks(Simulation simulation) {
		this.simulation = simulation;
	}

	long elections() {
		return this.elections;
	}

	double led() {
		return (double) this.calmLed / this.calmTotal;
	}

	// What happens

	void disturbed(Fault fault) {
		if (fault.isOrdinary() && fault != Fault.KILL) {
			return;
		}
		this.disturbedAt = this.simulation.now();
		if (!fault.isOrdinary()) {
			this.faultAt = this.disturbedAt;
		}
		if (fault == Fault.STORE_CLOCK_FORWARD || fault == Fault.TABLE_LOST) {
			this.beliefExcusedUntil = this.disturbedAt + 2 * this.simulation.plan().longestTtl();
		}
	}

	void storeClockSetBack(long step) {
		this.setBack = true;
		this.lapsesBefore = Math.max(this.lapsesBefore, this.simulation.now() + this.simulation.plan().longestTtl())
				+ step;
	}

	void tableLost() {
		this.rows.clear();
	}

	/**
	 * The next instant at which a lease lapses.
	 */
	long nextLapse() {
		long next = Long.MAX_VALUE;
		long time = this.simulation.storeTime();
		for (Row row : this.rows.values()) {
			if (row.isLive(time)) {
				next = Math.min(next, this.simulation.whenStoreShows(row.expiresAt()));
			}
		}
		return next;
	}

	// The store

	void answered(String ownerId, Collection<LeaseRequest> requests, List<LeaseResult> results) {
		for (LeaseRequest request : requests) {
			LeaseResult result = results.stream()
				.filter((it) -> it.role().equals(request.role()))
				.findFirst()
				.orElseThrow();
			if (result.outcome() == Outcome.GRANTED && request.heldToken().isPresent()) {
				throw violation("G10: a renewal of %s#%d was granted a new term, to '%s'".formatted(request.role(),
						request.heldToken().getAsLong(), ownerId));
			}
			if (result.outcome() == Outcome.GRANTED && result.fencingToken() <= request.tokenFloor()) {
				throw violation("G1: '%s' was granted %s#%d although it has seen #%d".formatted(ownerId, request.role(),
						result.fencingToken(), request.tokenFloor()));
			}
		}
	}

	void storeChanged() {
		for (Lease lease : this.simulation.leases()) {
			Row before = this.rows.get(lease.role());
			Row after = new Row(lease.role(), lease.ownerId(), lease.fencingToken(),
					Duration.between(Simulation.ORIGIN, lease.expiresAt()).toNanos());
			if (!after.equals(before)) {
				this.rows.put(lease.role(), after);
				changed(lease.role(), before, after);
			}
		}
	}

	private void changed(String role, @Nullable Row before, Row after) {
		long time = this.simulation.storeTime();
		this.simulation.trace(() -> "store: '%s' has %s#%d%s".formatted(after.ownerId(), role, after.token(),
				after.isLive(time) ? " for " + Duration.ofNanos(after.expiresAt() - time) : " no longer"));
		if (before == null || before.token() != after.token() || !before.ownerId().equals(after.ownerId())) {
			this.elections++;
			if (before != null && after.token() <= before.token()) {
				throw violation("G1: '%s' was granted %s#%d after #%d".formatted(after.ownerId(), role, after.token(),
						before.token()));
			}
			if (before != null && before.isLive(time)) {
				throw violation("G2: '%s' was granted %s#%d while '%s' holds it".formatted(after.ownerId(), role,
						after.token(), before.ownerId()));
			}
		}
		else if (after.isLive(time)) {
			if (!before.isLive(time)) {
				throw violation("G1: %s#%d of '%s' had lapsed and is live again".formatted(role, after.token(),
						after.ownerId()));
			}
		}
		else if (before.isLive(time)) {
			released(role, after);
		}
	}

	private void released(String role, Row row) {
		SimulatedNode node = this.simulation.owner(row.ownerId());
		if (node != null && node.isWorking(role, row.token(), row.ownerId())) {
			throw violation(
					"G5: %s#%d of '%s' was released while its work runs".formatted(role, row.token(), row.ownerId()));
		}
		this.released.add(row.anyTime());
		this.simulation.released(role);
	}

	private boolean holds(String role, String ownerId, long token) {
		Row row = this.rows.get(role);
		return row != null && row.ownerId().equals(ownerId) && row.token() == token
				&& row.isLive(this.simulation.storeTime());
	}

	// After every step

	void afterStep() {
		boolean watching = this.simulation.plan().watchfulness() == 1
				|| this.simulation.chance(this.simulation.plan().watchfulness());
		for (SimulatedNode node : this.simulation.nodes()) {
			if (node.isAlive()) {
				node.check();
			}
		}
		long passed = this.simulation.isCalm() ? this.simulation.now() - this.calmLookedAt : 0;
		this.calmLookedAt = this.simulation.now();
		for (Simulation.Role role : this.simulation.plan().roles()) {
			if (watching) {
				checkBelief(role.name());
			}
			if (this.simulation.isCalm()) {
				checkDrains(role.name());
				checkProgress(role, passed);
			}
		}
	}

	private void checkBelief(String role) {
		SimulatedNode believer = null;
		for (SimulatedNode node : this.simulation.nodes()) {
			if (!node.believes(role)) {
				continue;
			}
			long token = node.granted(role).value();
			if (this.simulation.now() >= this.beliefExcusedUntil) {
				if (!holds(role, node.ownerId(), token)) {
					throw violation("G3: '%s' believes to hold %s#%d, and the store says %s at %d"
						.formatted(node.ownerId(), role, token, this.rows.get(role), this.simulation.storeTime()));
				}
				if (believer != null) {
					throw violation("G3: two processes believe to hold '%s'".formatted(role));
				}
			}
			believer = node;
		}
	}

	/**
	 * A lease is kept while its work drains. With what went wrong before, it may be gone.
	 */
	private void checkDrains(String role) {
		if (this.simulation.now() - this.faultAt < 2 * this.simulation.plan().longestTtl()) {
			return;
		}
		for (SimulatedNode node : this.simulation.nodes()) {
			SimulatedNode.Revoked revoked = node.draining(role);
			if (revoked != null && !holds(role, node.ownerId(), revoked.token())) {
				throw violation("G5: the lease of %s#%d is gone while its work drains on '%s'".formatted(role,
						revoked.token(), node.ownerId()));
			}
		}
	}

	private void checkProgress(Simulation.Role role, long passed) {
		long now = this.simulation.now();
		boolean led = false;
		boolean draining = false;
		boolean willing = false;
		for (SimulatedNode node : this.simulation.nodes()) {
			led = led || node.believes(role.name());
			draining = draining || node.draining(role.name()) != null;
			willing = willing || node.isWilling(role.name());
		}
		this.calmTotal += passed;
		this.calmLed += led ? passed : 0;
		if (led || draining || !willing) {
			this.leaderlessSince.put(role.name(), now);
			return;
		}
		long since = Math.max(Math.max(this.disturbedAt, this.lapsesBefore),
				this.leaderlessSince.getOrDefault(role.name(), 0L));
		if (now - since > longestGap(role)) {
			throw violation("progress: '%s' has been without a leader for '%s', and the row is %s at %d; %s".formatted(
					role.name(), Duration.ofNanos(now - since), this.rows.get(role.name()), this.simulation.storeTime(),
					this.simulation.nodes().stream().map((node) -> node.describe(role.name())).toList()));
		}
	}

	/**
	 * TTL and poll interval and a little.
	 */
	private long longestGap(Simulation.Role role) {
		long ttl = role.settings().stream().mapToLong((it) -> it.leaseTtl().toNanos()).max().getAsLong();
		long poll = role.settings().stream().mapToLong((it) -> it.standbyPollInterval().toNanos()).max().getAsLong();
		long storeRetry = this.simulation.plan().callBound();
		return ttl + 3 * poll / 2 + storeRetry + 4 * Simulation.MAX_LATENESS + 4 * Simulation.MAX_LATENCY;
	}

	/**
	 * A node has stopped, and all that it had was given back.
	 * @param troubled whether something went wrong that may have kept it from that
	 */
	void stoppedCleanly(SimulatedNode node, boolean troubled) {
		if (this.setBack || this.simulation.isAnyRowLocked()) {
			return;
		}
		this.rows.forEach((role, row) -> {
			if (!troubled && holds(role, node.ownerId(), row.token()) && !this.released.contains(row.anyTime())) {
				throw violation("G10: '%s' has stopped and left the lease of %s#%d behind".formatted(node.ownerId(),
						role, row.token()));
			}
		});
	}

	private Simulation.Violation violation(String what) {
		return this.simulation.violation(what);
	}

	/**
	 * A row of the store.
	 *
	 * @param expiresAt by the store's clock, in nanoseconds since the beginning
	 */
	private record Row(String role, String ownerId, long token, long expiresAt) {

		boolean isLive(long storeTime) {
			return this.expiresAt > storeTime;
		}

		Row anyTime() {
			return new Row(this.role, this.ownerId, this.token, 0);
		}

	}

}
