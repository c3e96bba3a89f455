package io.github.fencedleadership.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

import io.github.fencedleadership.annotation.InvalidFencedLeaderException;

/**
 * Explains an {@link InvalidFencedLeaderException}.
 */
class InvalidFencedLeaderFailureAnalyzer extends AbstractFailureAnalyzer<InvalidFencedLeaderException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, InvalidFencedLeaderException cause) {
		return new FailureAnalysis(cause.getProblem() + ".", cause.getRemedy() + ".", cause);
	}

}
