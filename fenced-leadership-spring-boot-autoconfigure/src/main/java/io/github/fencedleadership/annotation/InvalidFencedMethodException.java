package io.github.fencedleadership.annotation;

import java.lang.reflect.Method;

import org.jspecify.annotations.Nullable;

import org.springframework.util.ClassUtils;

/**
 * Thrown at start-up for an annotated method that could not be fenced as declared.
 */
@SuppressWarnings("serial")
public abstract class InvalidFencedMethodException extends RuntimeException {

	private final String problem;

	private final String remedy;

	/**
	 * Create an exception.
	 * @param annotation the name of the annotation
	 * @param beanName the name of the bean
	 * @param method the method
	 * @param reason why it is rejected, in words that continue its name
	 * @param remedy what to do about it
	 * @param cause the cause, if any
	 */
	InvalidFencedMethodException(String annotation, String beanName, Method method, String reason, String remedy,
			@Nullable Throwable cause) {
		this("@%s method '%s' of bean '%s' %s".formatted(annotation,
				ClassUtils.getQualifiedMethodName(method, method.getDeclaringClass()), beanName, reason), remedy,
				cause);
	}

	private InvalidFencedMethodException(String problem, String remedy, @Nullable Throwable cause) {
		super(problem + ". " + remedy, cause);
		this.problem = problem;
		this.remedy = remedy;
	}

	/**
	 * Return what is wrong, naming bean and method.
	 * @return the problem
	 */
	public String getProblem() {
		return this.problem;
	}

	/**
	 * Return what to do about it.
	 * @return the remedy
	 */
	public String getRemedy() {
		return this.remedy;
	}

}
