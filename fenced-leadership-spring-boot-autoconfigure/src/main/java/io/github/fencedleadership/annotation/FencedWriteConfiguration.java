package io.github.fencedleadership.annotation;

import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;
import org.springframework.transaction.interceptor.TransactionAspectSupport;

import io.github.fencedleadership.fencing.FencingGuard;

/**
 * The beans that process {@link FencedWrite @FencedWrite}. Imported by the
 * auto-configuration; an application that does without it imports this class next to a
 * {@link FencingGuard} and a transaction manager.
 */
@Configuration(proxyBeanMethods = false)
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
public class FencedWriteConfiguration {

	@Configuration(proxyBeanMethods = false)
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	@ConditionalOnClass(TransactionAspectSupport.class)
	static class TransactionConfiguration {

		@Bean
		@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
		static FencedWriteBeanPostProcessor fencedWriteBeanPostProcessor(ObjectProvider<FencingGuard> guard,
				Environment environment) {
			FencedWriteBeanPostProcessor postProcessor = new FencedWriteBeanPostProcessor(new FencedWriteIntrospector(),
					guard::getObject);
			postProcessor
				.setProxyTargetClass(environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true));
			return postProcessor;
		}

		@Bean
		@Lazy(false)
		@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
		FencedWriteValidator fencedWriteValidator(ConfigurableListableBeanFactory beanFactory,
				FencedWriteBeanPostProcessor postProcessor) {
			return new FencedWriteValidator(beanFactory, postProcessor);
		}

	}

	/**
	 * Without transactions nothing can be fenced, and nothing may seem to be.
	 */
	@Configuration(proxyBeanMethods = false)
	@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
	@ConditionalOnMissingClass("org.springframework.transaction.interceptor.TransactionAspectSupport")
	static class NoTransactionConfiguration {

		@Bean
		@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
		static BeanPostProcessor fencedWriteRejectingBeanPostProcessor() {
			return new RejectingBeanPostProcessor();
		}

	}

	static class RejectingBeanPostProcessor implements BeanPostProcessor {

		private final FencedWriteIntrospector introspector = new FencedWriteIntrospector();

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			this.introspector.select(AopUtils.getTargetClass(bean)).keySet().forEach((method) -> {
				throw this.introspector.invalid(beanName, method,
						"needs a transaction, and Spring's transaction support is not on the class path",
						"Add 'spring-boot-starter-jdbc', or another starter that brings 'spring-tx'", null);
			});
			return bean;
		}

	}

}
