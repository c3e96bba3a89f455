package io.github.fencedleadership.annotation;

import java.io.Serial;
import java.util.List;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.core.Ordered;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.interceptor.TransactionAttributeSource;
import org.springframework.util.ClassUtils;
import org.springframework.util.function.SingletonSupplier;

import io.github.fencedleadership.fencing.FencingGuard;

/**
 * Puts advice around beans with {@link FencedWrite} methods, on both sides of advice that
 * is there already: the preparation outside of a transaction, the check inside of it.
 * <p>
 * Comes before that of {@link FencedLeaderBeanPostProcessor}, whose gate so comes to be
 * outside of both.
 */
class FencedWriteBeanPostProcessor extends FencedMethodBeanPostProcessor<FencedWriteMethod> {

	@Serial
	private static final long serialVersionUID = 1L;

	private final transient SingletonSupplier<FencingGuard> guard;

	private final transient FencedWriteInterceptor interceptor;

	private final transient Advisor preparation;

	private final transient Advisor check;

	FencedWriteBeanPostProcessor(FencedWriteIntrospector introspector, Supplier<FencingGuard> guard) {
		super(introspector);
		this.guard = SingletonSupplier.of(guard);
		this.interceptor = new FencedWriteInterceptor(introspector, this.guard::obtain);
		this.preparation = advisor(new FencedWritePreparation(introspector, this.guard::obtain));
		this.check = advisor(this.interceptor);
		this.advisor = this.check;
		setOrder(Ordered.LOWEST_PRECEDENCE - 3);
	}

	@Override
	public void setBeanFactory(BeanFactory beanFactory) {
		super.setBeanFactory(beanFactory);
		this.interceptor.setBeanFactory(beanFactory);
	}

	@Override
	List<Advisor> getAdvisors() {
		return List.of(this.preparation, this.check);
	}

	@Override
	Object advise(Object proxy, List<FencedWriteMethod> methods) {
		if (proxy instanceof Advised advised && !(proxy instanceof AopInfrastructureBean)) {
			advised.addAdvisor(0, this.preparation);
		}
		Class<?> targetClass = ClassUtils.getUserClass(AopUtils.getTargetClass(proxy));
		methods.forEach((method) -> requireFencedTransaction(method, targetClass, proxy));
		return proxy;
	}

	/**
	 * Reject a method whose check and writes would not commit together.
	 */
	private void requireFencedTransaction(FencedWriteMethod method, Class<?> targetClass, Object proxy) {
		TransactionAttribute declared = this.interceptor.declaredTransaction(method.method(), targetClass);
		if (declared != null) {
			requireWritable(method, declared);
		}
		List<Advisor> advisors = Targets.advisors(proxy);
		List<Advisor> transactions = advisors.stream()
			.filter((advisor) -> isTransaction(advisor, method, targetClass))
			.toList();
		if (declared != null && transactions.isEmpty()) {
			throw getIntrospector().invalid(method,
					"is @Transactional, and no proxy of its bean begins a transaction for it",
					"Switch on @EnableTransactionManagement (with mode = AdviceMode.PROXY), or remove @Transactional: there will be a transaction without it");
		}
		for (Advisor transaction : transactions) {
			int position = advisors.indexOf(transaction);
			if (position < advisors.indexOf(this.preparation) || position > advisors.indexOf(this.check)) {
				throw getIntrospector().invalid(method,
						"would be checked outside of its transaction, because its bean has several proxies, or one that is frozen",
						"Remove @Transactional: there will be a transaction without it");
			}
		}
	}

	private void requireWritable(FencedWriteMethod method, TransactionAttribute declared) {
		if (declared.isReadOnly()) {
			throw getIntrospector().invalid(method, "is @Transactional(readOnly = true), and the check may write",
					"Remove 'readOnly = true'");
		}
		int propagation = declared.getPropagationBehavior();
		if (propagation == TransactionDefinition.PROPAGATION_SUPPORTS
				|| propagation == TransactionDefinition.PROPAGATION_NOT_SUPPORTED
				|| propagation == TransactionDefinition.PROPAGATION_NEVER) {
			throw getIntrospector().invalid(method,
					"is @Transactional with a propagation that may run it without a transaction",
					"Use the propagation REQUIRED, REQUIRES_NEW, NESTED or MANDATORY");
		}
	}

	private static boolean isTransaction(Advisor advisor, FencedWriteMethod method, Class<?> targetClass) {
		if (advisor.getAdvice() instanceof TransactionAspectSupport aspect
				&& !(aspect instanceof FencedWriteInterceptor)) {
			TransactionAttributeSource source = aspect.getTransactionAttributeSource();
			return source != null && source.getTransactionAttribute(method.method(), targetClass) != null;
		}
		return false;
	}

	/**
	 * Return the transaction manager that a method will use.
	 * @param method the method
	 * @param targetClass the class of its bean
	 * @return the transaction manager
	 * @throws InvalidFencedMethodException if check and writes would use different ones
	 */
	@Nullable TransactionManager transactionManager(FencedWriteMethod method, Class<?> targetClass) {
		TransactionAttribute declared = this.interceptor.declaredTransaction(method.method(), targetClass);
		TransactionManager used = this.interceptor.transactionManager(method, declared, targetClass);
		if (declared != null && method.transactionManager() != null
				&& this.interceptor.transactionManager(method, null, targetClass) != used) {
			throw getIntrospector().invalid(method,
					"names the transaction manager '%s', and its @Transactional uses another"
						.formatted(method.transactionManager()),
					"Name it in one of them only, or the same in both");
		}
		return used;
	}

	/**
	 * Get hold of the guard now: a write that comes when the context has been closed must
	 * not ask the context for beans.
	 * @return the guard
	 * @throws org.springframework.beans.BeansException if there is none, or not only one
	 */
	FencingGuard resolveGuard() {
		return this.guard.obtain();
	}

	void setTransactionManager(TransactionManager transactionManager) {
		this.interceptor.setTransactionManager(transactionManager);
	}

}
