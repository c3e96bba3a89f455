package io.github.fencedleadership.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.util.ClassUtils;

/**
 * Explains a {@link NoLeaseStoreException}.
 */
class NoLeaseStoreFailureAnalyzer extends AbstractFailureAnalyzer<NoLeaseStoreException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, NoLeaseStoreException cause) {
		boolean jdbc = ClassUtils.isPresent("org.springframework.jdbc.core.JdbcTemplate",
				NoLeaseStoreFailureAnalyzer.class.getClassLoader());
		String reason = jdbc ? "There is no usable 'DataSource' bean." : "'spring-jdbc' is not on the class path.";
		String remedy = jdbc ? "Configure a DataSource ('spring.datasource.url')"
				: "Add 'spring-boot-starter-jdbc' and a database driver";
		return new FailureAnalysis("%s. %s".formatted(cause.getMessage(), reason),
				"""
						%s, or choose one of:

						- declare a 'LeaseStore' bean of your own
						- set 'fenced-leadership.store=memory', if this process is the only one: it elects within one process only
						- set 'fenced-leadership.enabled=false', if this application is not to lead anything"""
					.formatted(remedy),
				cause);
	}

}
