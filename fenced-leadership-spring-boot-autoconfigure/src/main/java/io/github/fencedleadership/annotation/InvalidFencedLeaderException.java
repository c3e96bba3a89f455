package io.github.fencedleadership.annotation;

import java.lang.reflect.Method;

import org.jspecify.annotations.Nullable;

/**
 * Thrown at start-up for a {@link FencedLeader @FencedLeader} method that could not be
 * fenced as declared.
 */
@SuppressWarnings("serial")
public class InvalidFencedLeaderException extends InvalidFencedMethodException {

	/**
	 * Create an exception.
	 * @param beanName the name of the bean
	 * @param method the method
	 * @param reason why it is rejected, in words that continue its name
	 * @param remedy what to do about it
	 * @param cause the cause, if any
	 */
	InvalidFencedLeaderException(String beanName, Method method, String reason, String remedy,
			@Nullable Throwable cause) {
		super("FencedLeader", beanName, method, reason, remedy, cause);
	}

}
