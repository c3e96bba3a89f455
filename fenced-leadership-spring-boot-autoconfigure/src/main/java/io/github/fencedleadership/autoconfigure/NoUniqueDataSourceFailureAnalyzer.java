package io.github.fencedleadership.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Explains a {@link NoUniqueDataSourceException}.
 */
class NoUniqueDataSourceFailureAnalyzer extends AbstractFailureAnalyzer<NoUniqueDataSourceException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, NoUniqueDataSourceException cause) {
		return new FailureAnalysis(cause.getMessage() + ".", """
				Choose one of:

				- annotate the bean method of the right one with '@FencedLeadershipDataSource'
				- annotate the bean method of the right one with '@Primary'
				- declare a 'LeaseStore' and a 'NodeRegistry' bean of your own""", cause);
	}

}
