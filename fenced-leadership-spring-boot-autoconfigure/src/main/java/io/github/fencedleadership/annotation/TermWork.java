package io.github.fencedleadership.annotation;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

import org.springframework.aop.support.AopUtils;
import org.springframework.util.ReflectionUtils;

import io.github.fencedleadership.election.LeaderWork;
import io.github.fencedleadership.election.Leadership;

/**
 * Calls a method once per term, through the proxy of its bean so that all other advice
 * applies inside the term.
 */
final class TermWork implements LeaderWork {

	private final Object bean;

	private final Object target;

	private final Method method;

	private final Method invocableMethod;

	TermWork(Object bean, Object target, Method method) {
		this.bean = bean;
		this.target = target;
		this.method = method;
		this.invocableMethod = AopUtils.selectInvocableMethod(method, bean.getClass());
		ReflectionUtils.makeAccessible(this.invocableMethod);
	}

	@Override
	public void lead(Leadership leadership) throws Exception {
		TermCall call = new TermCall(this.target, this.method, leadership);
		call.bind();
		try {
			this.invocableMethod.invoke(this.bean, arguments(leadership));
		}
		catch (InvocationTargetException ex) {
			ReflectionUtils.rethrowException(ex.getTargetException());
		}
		finally {
			TermCall.unbind();
		}
	}

	private Object[] arguments(Leadership leadership) {
		if (this.method.getParameterCount() == 0) {
			return new Object[0];
		}
		return new Object[] {
				(this.method.getParameterTypes()[0] == long.class) ? leadership.fencingToken().value() : leadership };
	}

}
