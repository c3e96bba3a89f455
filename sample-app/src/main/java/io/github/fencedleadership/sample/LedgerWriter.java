package io.github.fencedleadership.sample;

import org.springframework.stereotype.Component;

import io.github.fencedleadership.annotation.FencedLeader;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.fencing.StaleFencingTokenException;

/**
 * A job that runs for as long as this node leads: a consumer, a poller, a relay.
 */
@Component
class LedgerWriter {

	private final Ledger ledger;

	LedgerWriter(Ledger ledger) {
		this.ledger = ledger;
	}

	/**
	 * Called on a thread of its own when this node becomes the leader, once per term. A
	 * node that is frozen while it prepares an entry knows nothing of the end of its term
	 * when it wakes up and writes: that write is refused.
	 * @param leadership the term
	 */
	@FencedLeader("ledger")
	void write(Leadership leadership) {
		while (leadership.isHeld()) {
			String entry = this.ledger.prepareEntry(leadership.role());
			try {
				this.ledger.append(entry);
			}
			catch (StaleFencingTokenException ex) {
				this.ledger.recordRefusal(ex, entry);
				throw ex;
			}
		}
	}

}
