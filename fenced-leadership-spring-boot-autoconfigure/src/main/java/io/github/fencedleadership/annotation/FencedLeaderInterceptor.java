package io.github.fencedleadership.annotation;

import java.util.Optional;
import java.util.function.Supplier;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.annotation.FencedLeader.Mode;
import io.github.fencedleadership.annotation.FencedLeader.Otherwise;
import io.github.fencedleadership.election.LeaderElector;

/**
 * Lets a call of a gated method through while this node leads, and the container's own
 * call of a method that is run once per term.
 */
class FencedLeaderInterceptor implements MethodInterceptor {

	private final FencedLeaderIntrospector introspector;

	private final Supplier<LeaderElector> elector;

	private final Supplier<SkippedCalls> skippedCalls;

	FencedLeaderInterceptor(FencedLeaderIntrospector introspector, Supplier<LeaderElector> elector,
			Supplier<SkippedCalls> skippedCalls) {
		this.introspector = introspector;
		this.elector = elector;
		this.skippedCalls = skippedCalls;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		Object target = invocation.getThis();
		FencedLeaderMethod method = this.introspector.describe(invocation.getMethod(), Targets.targetClass(invocation));
		if (method == null) {
			return invocation.proceed();
		}
		return (method.mode() == Mode.RUN) ? run(invocation, target, method) : gate(invocation, method);
	}

	private @Nullable Object run(MethodInvocation invocation, @Nullable Object target, FencedLeaderMethod method)
			throws Throwable {
		TermCall call = TermCall.current();
		if (call == null || target == null || !call.enter(Targets.ultimateTarget(target), method.method())) {
			throw new IllegalStateException(
					"'%s' is run once per term of role '%s' and must not be called. Declare mode = Mode.GATE on its @FencedLeader if it is to be called during a term"
						.formatted(method.description(), method.role()));
		}
		try {
			return invocation.proceed();
		}
		finally {
			call.leave();
		}
	}

	private @Nullable Object gate(MethodInvocation invocation, FencedLeaderMethod method) throws Throwable {
		LeaderElector elector = this.elector.get();
		Optional<LeaderElector.Scope> entered = elector.enter(method.role());
		if (entered.isEmpty()) {
			this.skippedCalls.get().record(method.role(), method.description(), elector.status(method.role()));
			if (method.otherwise() == Otherwise.THROW) {
				throw new NotLeaderException(method.role(), method.description());
			}
			return FencedLeaderIntrospector.emptyResult(method.method().getReturnType());
		}
		this.skippedCalls.get().recordEntry(method.role());
		try (LeaderElector.Scope scope = entered.get()) {
			return invocation.proceed();
		}
	}

}
