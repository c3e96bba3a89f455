package io.github.fencedleadership.sample;

import java.util.stream.Collectors;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

import io.github.fencedleadership.annotation.FencedLeader;

/**
 * A scheduled job that is skipped on every node but the leader.
 */
@Component
class LedgerSummary {

	private static final Log logger = LogFactory.getLog(LedgerSummary.class);

	private final Ledger ledger;

	LedgerSummary(Ledger ledger) {
		this.ledger = ledger;
	}

	/**
	 * Called by the scheduler on every node. Gets no further than the gate on all but the
	 * leader of the role, which need not be the leader of the other one.
	 */
	@Scheduled(fixedDelayString = "${sample.summary-interval}")
	@FencedLeader("ledger-summary")
	void summarize() {
		String summary = this.ledger.terms("ledger")
			.stream()
			.limit(5)
			.map((term) -> "%d x token %d by %s".formatted(term.entries(), term.fencingToken(), term.node()))
			.collect(Collectors.joining(", "));
		logger.info("Ledger: " + summary);
		this.ledger.append(summary);
	}

}
