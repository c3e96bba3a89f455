package io.github.fencedleadership.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Explains a {@link MissingTableException}.
 */
class MissingTableFailureAnalyzer extends AbstractFailureAnalyzer<MissingTableException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, MissingTableException cause) {
		String script = FencedLeadershipJdbcProperties.DEFAULT_SCHEMA_LOCATION.replace("@@platform@@",
				cause.getPlatform());
		return new FailureAnalysis(cause.getMessage() + ", which leases and nodes are kept in.",
				"""
						Choose one of:

						- set 'fenced-leadership.jdbc.initialize-schema=always', if the application may create tables
						- run the script '%s' by hand, with the names of the tables as you configured them
						- make the statements of that script a migration of Flyway or Liquibase

						If the tables are there, check 'fenced-leadership.jdbc.table-prefix' and 'fenced-leadership.jdbc.schema-name'."""
					.formatted(script),
				cause);
	}

}
