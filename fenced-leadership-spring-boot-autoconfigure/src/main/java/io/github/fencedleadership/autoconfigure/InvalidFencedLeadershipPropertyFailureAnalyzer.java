package io.github.fencedleadership.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Explains an {@link InvalidFencedLeadershipPropertyException}.
 */
class InvalidFencedLeadershipPropertyFailureAnalyzer
		extends AbstractFailureAnalyzer<InvalidFencedLeadershipPropertyException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, InvalidFencedLeadershipPropertyException cause) {
		return new FailureAnalysis(cause.getProblem(), cause.getRemedy() + ".", cause);
	}

}
