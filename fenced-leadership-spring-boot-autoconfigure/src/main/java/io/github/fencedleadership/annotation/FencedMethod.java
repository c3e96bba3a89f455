package io.github.fencedleadership.annotation;

import java.lang.reflect.Method;

/**
 * A method of a bean whose calls are fenced.
 */
interface FencedMethod {

	String beanName();

	Method method();

	/**
	 * Return the method in a form for logs and errors: {@code reports.send()}.
	 * @return the description
	 */
	default String description() {
		return beanName() + "." + method().getName() + "()";
	}

}
