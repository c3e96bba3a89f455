package io.github.fencedleadership.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

import io.github.fencedleadership.jdbc.MissingFencingTableException;

/**
 * Explains a {@link MissingFencingTableException}.
 */
class MissingFencingTableFailureAnalyzer extends AbstractFailureAnalyzer<MissingFencingTableException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, MissingFencingTableException cause) {
		String script = FencedLeadershipFencingProperties.DEFAULT_SCHEMA_LOCATION.replace("@@platform@@",
				cause.getPlatform());
		return new FailureAnalysis(
				"The database that is written to has no table '%s', which fenced writes need."
					.formatted(cause.getTable()),
				"""
						Choose one of:

						- set 'fenced-leadership.jdbc.initialize-schema=always', if the application may create tables
						- run the script '%s' by hand, with the name of the table as you configured it
						- make the statements of that script a migration of Flyway or Liquibase

						If the table is there, check 'fenced-leadership.jdbc.table-prefix' and 'fenced-leadership.jdbc.schema-name'."""
					.formatted(script),
				cause);
	}

}
