package io.github.fencedleadership.autoconfigure;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.transaction.PlatformTransactionManager;

import io.github.fencedleadership.fencing.FencingGuard;
import io.github.fencedleadership.jdbc.FencedTransactionTemplate;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for the
 * {@link FencedTransactionTemplate}.
 */
@AutoConfiguration(after = FencedLeadershipFencingAutoConfiguration.class,
		afterName = { "org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration",
				"org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration",
				"org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration" })
@ConditionalOnClass(PlatformTransactionManager.class)
@ConditionalOnSingleCandidate(PlatformTransactionManager.class)
public final class FencedLeadershipTransactionAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	@ConditionalOnSingleCandidate(FencingGuard.class)
	FencedTransactionTemplate fencedTransactionTemplate(PlatformTransactionManager transactionManager,
			FencingGuard guard) {
		return new FencedTransactionTemplate(transactionManager, guard);
	}

}
