package io.github.fencedleadership.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

import io.github.fencedleadership.jdbc.UnsupportedDatabaseException;

/**
 * Explains an {@link UnsupportedDatabaseException}.
 */
class UnsupportedDatabaseFailureAnalyzer extends AbstractFailureAnalyzer<UnsupportedDatabaseException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, UnsupportedDatabaseException cause) {
		return new FailureAnalysis(cause.getMessage() + ".", """
				Choose one of:

				- declare a DataSource of a supported database and annotate it with '@FencedLeadershipDataSource'
				- declare a 'LeaseStore' and a 'NodeRegistry' bean of your own""", cause);
	}

}
