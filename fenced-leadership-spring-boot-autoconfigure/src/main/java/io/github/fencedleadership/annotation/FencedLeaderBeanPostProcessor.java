package io.github.fencedleadership.annotation;

import java.io.Serial;
import java.util.List;
import java.util.function.Supplier;

import org.springframework.aop.Advisor;
import org.springframework.core.Ordered;
import org.springframework.util.function.SingletonSupplier;

import io.github.fencedleadership.election.LeaderElector;

/**
 * Puts a {@link FencedLeaderInterceptor} around beans with {@link FencedLeader} methods.
 * It comes before advice that is there already, such as a transaction, and leaves
 * {@code @Async} and {@code @Retryable} to come before it.
 */
class FencedLeaderBeanPostProcessor extends FencedMethodBeanPostProcessor<FencedLeaderMethod> {

	@Serial
	private static final long serialVersionUID = 1L;

	private final transient SingletonSupplier<LeaderElector> elector;

	private final transient SingletonSupplier<SkippedCalls> skippedCalls;

	private final transient Advisor fencedLeaderAdvisor;

	FencedLeaderBeanPostProcessor(FencedLeaderIntrospector introspector, Supplier<LeaderElector> elector,
			Supplier<SkippedCalls> skippedCalls) {
		super(introspector);
		this.elector = SingletonSupplier.of(elector);
		this.skippedCalls = SingletonSupplier.of(skippedCalls);
		this.fencedLeaderAdvisor = advisor(
				new FencedLeaderInterceptor(introspector, this.elector::obtain, this.skippedCalls::obtain));
		this.advisor = this.fencedLeaderAdvisor;
		setBeforeExistingAdvisors(true);
		setOrder(Ordered.LOWEST_PRECEDENCE - 2);
	}

	/**
	 * Get hold of the beans that gates need now. A call that comes when the context has
	 * been closed must find its gate closed, and not ask the context for beans.
	 */
	void resolveDependencies() {
		this.elector.obtain();
		this.skippedCalls.obtain();
	}

	@Override
	List<Advisor> getAdvisors() {
		return List.of(this.fencedLeaderAdvisor);
	}

}
