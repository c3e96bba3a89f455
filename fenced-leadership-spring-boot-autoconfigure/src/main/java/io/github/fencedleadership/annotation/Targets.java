package io.github.fencedleadership.annotation;

import java.util.ArrayList;
import java.util.List;

import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.aop.TargetSource;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.target.EmptyTargetSource;

/**
 * Looks through proxies, of which a bean may have several around each other.
 */
final class Targets {

	private Targets() {
	}

	static Class<?> targetClass(MethodInvocation invocation) {
		Object target = invocation.getThis();
		return (target != null) ? AopUtils.getTargetClass(target) : invocation.getMethod().getDeclaringClass();
	}

	static Object ultimateTarget(Object bean) {
		Object current = bean;
		Object inner = target(current);
		while (inner != null) {
			current = inner;
			inner = target(current);
		}
		return current;
	}

	static boolean isAdvised(Object bean, Advisor advisor) {
		for (Object current = bean; current != null; current = target(current)) {
			if (current instanceof Advised advised && advised.indexOf(advisor) >= 0) {
				return true;
			}
		}
		return false;
	}

	/**
	 * Return the advisors of a bean's proxies, in the order in which a call passes them.
	 * @param bean the bean
	 * @return the advisors
	 */
	static List<Advisor> advisors(Object bean) {
		List<Advisor> advisors = new ArrayList<>();
		for (Object current = bean; current != null; current = target(current)) {
			if (current instanceof Advised advised) {
				advisors.addAll(List.of(advised.getAdvisors()));
			}
		}
		return advisors;
	}

	private static @Nullable Object target(Object bean) {
		if (!(bean instanceof Advised advised)) {
			return null;
		}
		TargetSource targetSource = advised.getTargetSource();
		if (!targetSource.isStatic() || targetSource instanceof EmptyTargetSource) {
			return null;
		}
		try {
			return targetSource.getTarget();
		}
		catch (Exception ex) {
			throw new IllegalStateException("Target of a proxy of '%s' is not available".formatted(bean.getClass()),
					ex);
		}
	}

}
