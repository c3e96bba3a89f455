package io.github.fencedleadership.annotation;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.LazyInitializationExcludeFilter;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;

import io.github.fencedleadership.election.LeaderElector;

/**
 * The beans that process {@link FencedLeader @FencedLeader}. Imported by the
 * auto-configuration; an application that does without it imports this class next to a
 * {@link LeaderElector} and a {@link RoleSettingsResolver}.
 */
@Configuration(proxyBeanMethods = false)
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
public class FencedLeaderConfiguration {

	@Bean
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	static FencedLeaderMethodRegistry fencedLeaderMethodRegistry() {
		return new FencedLeaderMethodRegistry();
	}

	@Bean
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	static FencedLeaderBeanPostProcessor fencedLeaderBeanPostProcessor(
			ObjectProvider<FencedLeaderMethodRegistry> registry, ObjectProvider<LeaderElector> elector,
			Environment environment) {
		FencedLeaderBeanPostProcessor postProcessor = new FencedLeaderBeanPostProcessor(new FencedLeaderIntrospector(),
				elector::getObject, () -> registry.getObject().skippedCalls());
		postProcessor
			.setProxyTargetClass(environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true));
		return postProcessor;
	}

	@Bean
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	static LazyInitializationExcludeFilter fencedLeaderLazyInitializationExcludeFilter() {
		return new FencedLeaderLazyInitializationExcludeFilter();
	}

	@Bean
	@Lazy(false)
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	FencedLeaderRegistrar fencedLeaderRegistrar(ConfigurableListableBeanFactory beanFactory,
			FencedLeaderBeanPostProcessor postProcessor, FencedLeaderMethodRegistry registry, LeaderElector elector,
			RoleSettingsResolver settingsResolver) {
		return new FencedLeaderRegistrar(beanFactory, postProcessor, registry, elector, settingsResolver);
	}

}
