package io.github.fencedleadership.annotation;

import java.lang.reflect.Method;
import java.util.Objects;

import io.github.fencedleadership.annotation.FencedLeader.Mode;
import io.github.fencedleadership.annotation.FencedLeader.Otherwise;

/**
 * A {@link FencedLeader @FencedLeader} method of a bean, with everything resolved.
 *
 * @param beanName the name of the bean
 * @param method the method of the bean's class
 * @param role the role
 * @param mode {@link Mode#RUN} or {@link Mode#GATE}
 * @param otherwise what becomes of a call while the gate is closed
 * @param declared the times that the annotation states
 */
public record FencedLeaderMethod(String beanName, Method method, String role, Mode mode, Otherwise otherwise,
		RoleSettingsResolver.Declared declared) implements FencedMethod {

	public FencedLeaderMethod {
		Objects.requireNonNull(beanName, "'beanName' must not be null");
		Objects.requireNonNull(method, "'method' must not be null");
		Objects.requireNonNull(role, "'role' must not be null");
		if (mode == Mode.AUTO) {
			throw new IllegalArgumentException("Mode of method '%s' must be resolved".formatted(method));
		}
	}

	/**
	 * Return the method in a form for logs and errors: {@code reports.send()}.
	 * @return the description
	 */
	@Override
	public String description() {
		return FencedMethod.super.description();
	}

}
