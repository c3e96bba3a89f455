package io.github.fencedleadership.annotation;

import java.util.function.Supplier;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.transaction.support.TransactionSynchronizationManager;

import io.github.fencedleadership.fencing.FencingGuard;
import io.github.fencedleadership.fencing.FencingToken;

/**
 * Prepares the check of a fenced write, before its transaction begins. A call outside of
 * any term gets no further than this.
 */
class FencedWritePreparation implements MethodInterceptor {

	private final FencedWriteIntrospector introspector;

	private final Supplier<FencingGuard> guard;

	FencedWritePreparation(FencedWriteIntrospector introspector, Supplier<FencingGuard> guard) {
		this.introspector = introspector;
		this.guard = guard;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		FencedWriteMethod method = this.introspector.describe(invocation.getMethod(), Targets.targetClass(invocation));
		if (method != null) {
			prepare(method);
		}
		return invocation.proceed();
	}

	private void prepare(FencedWriteMethod method) {
		FencingToken token = method.requireToken();
		// Inside of one it is too late, and might wait for what its caller has locked
		if (!TransactionSynchronizationManager.isActualTransactionActive()) {
			this.guard.get().prepare(method.resource(), token);
		}
	}

}
