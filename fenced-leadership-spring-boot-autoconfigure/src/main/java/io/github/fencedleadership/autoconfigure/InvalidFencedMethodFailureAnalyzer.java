package io.github.fencedleadership.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

import io.github.fencedleadership.annotation.InvalidFencedMethodException;

/**
 * Explains an {@link InvalidFencedMethodException}.
 */
class InvalidFencedMethodFailureAnalyzer extends AbstractFailureAnalyzer<InvalidFencedMethodException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, InvalidFencedMethodException cause) {
		return new FailureAnalysis(cause.getProblem() + ".", cause.getRemedy() + ".", cause);
	}

}
