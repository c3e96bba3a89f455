package io.github.fencedleadership.annotation;

import java.lang.reflect.Method;
import java.util.function.Supplier;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.config.EmbeddedValueResolver;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.interceptor.DefaultTransactionAttribute;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import io.github.fencedleadership.fencing.FencingGuard;

/**
 * Has the fencing token checked inside of the transaction of a fenced write, and begins
 * or joins one unless the method has a {@code @Transactional} of its own, which does so
 * further out.
 * <p>
 * With one of its own, nothing but the check happens here: a second transaction aspect
 * would have its own say in when to roll back.
 */
class FencedWriteInterceptor extends TransactionAspectSupport implements MethodInterceptor {

	private final FencedWriteIntrospector introspector;

	private final Supplier<FencingGuard> guard;

	private final AnnotationTransactionAttributeSource declaredTransactions = new AnnotationTransactionAttributeSource(
			false);

	FencedWriteInterceptor(FencedWriteIntrospector introspector, Supplier<FencingGuard> guard) {
		this.introspector = introspector;
		this.guard = guard;
		setTransactionAttributeSource(this::plainTransaction);
	}

	@Override
	public void setBeanFactory(@Nullable BeanFactory beanFactory) {
		super.setBeanFactory(beanFactory);
		if (beanFactory instanceof ConfigurableBeanFactory configurableBeanFactory) {
			this.declaredTransactions.setEmbeddedValueResolver(new EmbeddedValueResolver(configurableBeanFactory));
		}
	}

	private @Nullable TransactionAttribute plainTransaction(Method method, @Nullable Class<?> targetClass) {
		FencedWriteMethod fenced = this.introspector.describe(method,
				(targetClass != null) ? targetClass : method.getDeclaringClass());
		return (fenced != null) ? plainTransaction(fenced) : null;
	}

	private static TransactionAttribute plainTransaction(FencedWriteMethod method) {
		DefaultTransactionAttribute attribute = new DefaultTransactionAttribute(
				TransactionDefinition.PROPAGATION_REQUIRED);
		attribute.setQualifier(method.transactionManager());
		return attribute;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		Class<?> targetClass = Targets.targetClass(invocation);
		FencedWriteMethod method = this.introspector.describe(invocation.getMethod(), targetClass);
		if (method == null) {
			return invocation.proceed();
		}
		if (declaredTransaction(method.method(), targetClass) != null) {
			check(method);
			return invocation.proceed();
		}
		return invokeWithinTransaction(invocation.getMethod(), targetClass, () -> {
			check(method);
			return invocation.proceed();
		});
	}

	private void check(FencedWriteMethod method) {
		try {
			if (TransactionSynchronizationManager.isCurrentTransactionReadOnly()) {
				throw new IllegalTransactionStateException(
						"'%s' writes to '%s' and needs a transaction that may write, and the one to be joined is read-only"
							.formatted(method.description(), method.resource()));
			}
			this.guard.get().check(method.resource(), method.requireToken());
		}
		catch (RuntimeException | Error ex) {
			// Whatever the rollback rules say
			currentTransactionStatus().setRollbackOnly();
			throw ex;
		}
	}

	/**
	 * Return what the application itself declares for the transaction of a method.
	 * @param method the method
	 * @param targetClass the class of the bean
	 * @return what it declares, {@code null} if nothing
	 */
	@Nullable TransactionAttribute declaredTransaction(Method method, Class<?> targetClass) {
		return this.declaredTransactions.getTransactionAttribute(method, targetClass);
	}

	/**
	 * Return the transaction manager for a method.
	 * @param method the method
	 * @param declared what the application itself declares for it, if anything
	 * @param targetClass the class of the bean
	 * @return the transaction manager
	 * @throws RuntimeException if there is none, or not only one
	 */
	@Nullable TransactionManager transactionManager(FencedWriteMethod method, @Nullable TransactionAttribute declared,
			Class<?> targetClass) {
		return determineTransactionManager((declared != null) ? declared : plainTransaction(method), targetClass);
	}

}
