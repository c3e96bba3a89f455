package io.github.fencedleadership.annotation;

import java.lang.reflect.Method;

import org.jspecify.annotations.Nullable;

import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Recognises beans that a test has replaced by a mock. Such a bean does nothing, so there
 * is nothing to fence, and post-processors never see it.
 */
final class Mocks {

	private static final @Nullable Method MOCKING_DETAILS = find("org.mockito.Mockito", "mockingDetails", Object.class);

	private static final @Nullable Method IS_MOCK = find("org.mockito.MockingDetails", "isMock");

	private static final @Nullable Method IS_SPY = find("org.mockito.MockingDetails", "isSpy");

	private Mocks() {
	}

	static boolean isMock(Object bean) {
		if (MOCKING_DETAILS == null || IS_MOCK == null || IS_SPY == null) {
			return false;
		}
		Object details = ReflectionUtils.invokeMethod(MOCKING_DETAILS, null, bean);
		return Boolean.TRUE.equals(ReflectionUtils.invokeMethod(IS_MOCK, details))
				&& Boolean.FALSE.equals(ReflectionUtils.invokeMethod(IS_SPY, details));
	}

	private static @Nullable Method find(String className, String methodName, Class<?>... parameterTypes) {
		ClassLoader classLoader = Mocks.class.getClassLoader();
		if (!ClassUtils.isPresent(className, classLoader)) {
			return null;
		}
		return ReflectionUtils.findMethod(ClassUtils.resolveClassName(className, classLoader), methodName,
				parameterTypes);
	}

}
