package io.github.fencedleadership.election;

import java.time.Duration;

import org.junit.jupiter.api.Test;

import io.github.fencedleadership.lease.InMemoryLeaseStore;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A day of leading and standing by, in virtual time.
 */
class LongTimeTests {

	private final ManualClock clock = new ManualClock();

	@Test
	void aDayLeavesNothingBehind() {
		InMemoryLeaseStore store = new InMemoryLeaseStore(this.clock);
		RoleSettings settings = RoleSettings.of(Duration.ofSeconds(30));
		VirtualNode leader = new VirtualNode("a", this.clock, store, settings, Duration.ofSeconds(20));
		leader.register("reports");
		leader.run();
		VirtualNode standby = new VirtualNode("b", this.clock, store, settings, Duration.ofSeconds(20));
		standby.register("reports");
		long hour = usedAfter(leader, standby, 1);
		int ofLeader = leader.statements;
		int ofStandby = standby.statements;
		long day = usedAfter(leader, standby, 23);
		assertThat(leader.events).containsExactly("granted reports#1", "started reports#1");
		assertThat(standby.events).isEmpty();
		assertThat(leader.core.activeWork()).hasSize(1);
		assertThat(leader.statements - ofLeader).as("renewals").isBetween(23 * 360 - 1, 23 * 360 + 1);
		assertThat(standby.statements - ofStandby).as("reads").isBetween(23 * 1800 - 30, 23 * 1800 + 30);
		assertThat(day).as("kilobytes of heap").isLessThan(hour + 2 * 1024);
	}

	private long usedAfter(VirtualNode leader, VirtualNode standby, int hours) {
		long end = this.clock.nanos() + Duration.ofHours(hours).toNanos();
		while (this.clock.nanos() < end) {
			long next = Math.min(leader.nextInstant(), standby.nextInstant());
			this.clock.advanceTo(Math.min(end, Math.max(next, this.clock.nanos() + 1)));
			// Work that lives as long as that reports its progress.
			leader.running.keySet().forEach(ActiveWork::progress);
			leader.run();
			standby.run();
		}
		long used = Long.MAX_VALUE;
		for (int i = 0; i < 5; i++) {
			System.gc();
			used = Math.min(used, Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
		}
		return used / 1024;
	}

}
