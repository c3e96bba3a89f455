package io.github.fencedleadership.annotation;

import java.lang.reflect.Method;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

import org.springframework.util.StringUtils;

import io.github.fencedleadership.fencing.FencingGuard;
import io.github.fencedleadership.fencing.Resources;
import io.github.fencedleadership.lease.Roles;

/**
 * Finds the {@link FencedWrite @FencedWrite} methods of a class, and rejects those that
 * can be seen, from the class alone, not to be fenceable.
 */
class FencedWriteIntrospector extends FencedMethodIntrospector<FencedWrite, FencedWriteMethod> {

	private static final Pattern QUALIFIER = Pattern.compile("/");

	FencedWriteIntrospector() {
		super(FencedWrite.class);
	}

	@Override
	InvalidFencedWriteException invalid(String beanName, Method method, String reason, String remedy,
			@Nullable Throwable cause) {
		return new InvalidFencedWriteException(beanName, method, reason, remedy, cause);
	}

	@Override
	FencedWriteMethod describe(String beanName, Method method, FencedWrite annotation) {
		String resource = resolve(annotation.resource());
		if (!StringUtils.hasText(resource)) {
			throw invalid(beanName, method, "names no resource", "State the resource, as in @FencedWrite(\"ledger\")",
					null);
		}
		try {
			Resources.validate(resource);
		}
		catch (IllegalArgumentException ex) {
			throw invalid(beanName, method, "names an invalid resource: " + ex.getMessage(),
					"Use 1 to %d characters without control characters".formatted(FencingGuard.MAX_RESOURCE_LENGTH),
					ex);
		}
		String role = resolve(annotation.role());
		if (StringUtils.hasText(role) && !isQualifiedRole(role)) {
			throw invalid(beanName, method, "names the invalid role '%s'".formatted(role),
					"Use 1 to %d characters, each an ASCII letter or digit or one of '._:-', after a namespace and '/' if it is a role of another application"
						.formatted(Roles.MAX_LENGTH),
					null);
		}
		String transactionManager = resolve(annotation.transactionManager());
		return new FencedWriteMethod(beanName, method, resource, StringUtils.hasText(role) ? role : null,
				StringUtils.hasText(transactionManager) ? transactionManager : null);
	}

	private static boolean isQualifiedRole(String role) {
		String[] names = QUALIFIER.split(role, -1);
		return names.length <= 2 && Roles.isValid(names[0]) && Roles.isValid(names[names.length - 1]);
	}

	@Override
	void validate(FencedWriteMethod method, Class<?> targetClass) {
		requireOverridable(method, targetClass);
		requireSynchronous(method, targetClass,
				"Move the write to a method of another bean that is called by the asynchronous one", "transaction");
	}

}
