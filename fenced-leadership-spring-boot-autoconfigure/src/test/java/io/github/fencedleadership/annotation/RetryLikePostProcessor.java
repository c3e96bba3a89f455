package io.github.fencedleadership.annotation;

import java.lang.annotation.Annotation;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;

import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.annotation.AnnotationMatchingPointcut;
import org.springframework.core.Ordered;

/**
 * Puts advice around annotated methods that calls again after a failure.
 */
@SuppressWarnings("serial")
class RetryLikePostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor {

	RetryLikePostProcessor() {
		this(FencedLeader.class);
	}

	RetryLikePostProcessor(Class<? extends Annotation> annotationType) {
		this.advisor = new DefaultPointcutAdvisor(AnnotationMatchingPointcut.forMethodAnnotation(annotationType),
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
