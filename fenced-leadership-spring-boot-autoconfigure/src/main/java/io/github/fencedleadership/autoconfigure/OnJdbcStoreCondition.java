package io.github.fencedleadership.autoconfigure;

import java.util.Locale;

import javax.sql.DataSource;

import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Matches if leases are to be kept in a database and there is any DataSource. Whether it
 * is the right one, and the only one, is found out later and loudly: to have no store
 * because of a condition would be a fence that silently does not apply.
 */
class OnJdbcStoreCondition extends SpringBootCondition implements ConfigurationCondition {

	private static final String PROPERTY = "fenced-leadership.store";

	@Override
	public ConfigurationPhase getConfigurationPhase() {
		return ConfigurationPhase.REGISTER_BEAN;
	}

	@Override
	public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
		ConditionMessage.Builder message = ConditionMessage.forCondition("Fenced leadership JDBC store");
		String store = context.getEnvironment().getProperty(PROPERTY, "auto").trim().toLowerCase(Locale.ROOT);
		if (!store.equals("auto") && !store.equals("jdbc")) {
			return ConditionOutcome.noMatch(message.because("'%s' is '%s'".formatted(PROPERTY, store)));
		}
		ConfigurableListableBeanFactory beanFactory = context.getBeanFactory();
		String[] names = (beanFactory != null)
				? BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beanFactory, DataSource.class, true, false)
				: new String[0];
		return (names.length > 0)
				? ConditionOutcome.match(message.found("DataSource", "DataSources").items((Object[]) names))
				: ConditionOutcome.noMatch(message.didNotFind("DataSource").atAll());
	}

}
