package io.github.fencedleadership.sample;

import java.time.Duration;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;

import io.github.fencedleadership.annotation.FencedLeader;
import io.github.fencedleadership.election.Leadership;

/**
 * A job that runs for as long as this node leads: a consumer, a poller, a relay.
 */
@Component
class LedgerWriter {

	private final Ledger ledger;

	private final Duration interval;

	LedgerWriter(Ledger ledger, @Value("${sample.write-interval}") Duration interval) {
		this.ledger = ledger;
		this.interval = interval;
	}

	/**
	 * Called on a thread of its own when this node becomes the leader, once per term. The
	 * wait ends at once when the term does, and so does the loop.
	 * @param leadership the term
	 * @throws InterruptedException if the term ended during a wait
	 */
	@FencedLeader("ledger")
	void write(Leadership leadership) throws InterruptedException {
		long number = 0;
		do {
			number++;
			this.ledger.append("entry " + number);
		}
		while (leadership.await(this.interval));
	}

}
