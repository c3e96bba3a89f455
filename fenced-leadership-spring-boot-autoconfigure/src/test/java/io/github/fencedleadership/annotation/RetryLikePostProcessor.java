package io.github.fencedleadership.annotation;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.annotation.AnnotationMatchingPointcut;
import org.springframework.core.Ordered;

/**
 * Puts advice around {@link FencedLeader} methods that calls again after a failure.
 */
@SuppressWarnings("serial")
class RetryLikePostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor {

	RetryLikePostProcessor() {
		this.advisor = new DefaultPointcutAdvisor(AnnotationMatchingPointcut.forMethodAnnotation(FencedLeader.class),
				new RetryOnce());
		setBeforeExistingAdvisors(true);
		setProxyTargetClass(true);
		setOrder(Ordered.LOWEST_PRECEDENCE - 1);
	}

	private static final class RetryOnce implements MethodInterceptor {

		@Override
		public Object invoke(MethodInvocation invocation) throws Throwable {
			try {
				return ((ProxyMethodInvocation) invocation).invocableClone().proceed();
			}
			catch (UnsupportedOperationException ex) {
				return invocation.proceed();
			}
		}

	}

}
