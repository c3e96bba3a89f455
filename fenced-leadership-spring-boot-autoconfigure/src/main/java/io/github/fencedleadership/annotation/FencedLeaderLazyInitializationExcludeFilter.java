package io.github.fencedleadership.annotation;

import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.LazyInitializationExcludeFilter;
import org.springframework.util.ClassUtils;

import io.github.fencedleadership.annotation.FencedLeader.Mode;

/**
 * Excludes beans with methods that are run on election from lazy initialization: nobody
 * else would ever ask for them.
 */
class FencedLeaderLazyInitializationExcludeFilter implements LazyInitializationExcludeFilter {

	private final FencedLeaderIntrospector introspector = new FencedLeaderIntrospector();

	@Override
	public boolean isExcluded(String beanName, BeanDefinition beanDefinition, Class<?> beanType) {
		Class<?> type = ClassUtils.getUserClass(beanType);
		// Any that is not declared a gate: better one bean too early than one missing
		return !AopInfrastructureBean.class.isAssignableFrom(type) && this.introspector.select(type)
			.values()
			.stream()
			.anyMatch((annotation) -> annotation.mode() != Mode.GATE);
	}

}
