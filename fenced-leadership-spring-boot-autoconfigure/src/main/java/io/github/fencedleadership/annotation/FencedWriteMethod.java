package io.github.fencedleadership.annotation;

import java.lang.reflect.Method;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.NoFencingTokenException;

/**
 * A {@link FencedWrite @FencedWrite} method of a bean, with everything resolved.
 *
 * @param beanName the name of the bean
 * @param method the method of the bean's class
 * @param resource what is written to
 * @param role the role whose token is used, {@code null} for that of the innermost term
 * @param transactionManager the qualifier of the transaction manager, {@code null} for
 * the default one
 */
record FencedWriteMethod(String beanName, Method method, String resource, @Nullable String role,
		@Nullable String transactionManager) implements FencedMethod {

	FencingToken requireToken() {
		Optional<FencingToken> token = (this.role != null) ? FencingToken.current(this.role) : FencingToken.current();
		return token.orElseThrow(() -> new NoFencingTokenException(this.resource, this.role));
	}

}
