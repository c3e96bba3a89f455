package io.github.fencedleadership.annotation;

import java.io.Serial;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.function.SingletonSupplier;

import io.github.fencedleadership.election.LeaderElector;

/**
 * Puts a {@link FencedLeaderInterceptor} around beans with {@link FencedLeader} methods.
 * It comes before advice that is there already, such as a transaction, and leaves
 * {@code @Async} and {@code @Retryable} to come before it.
 */
class FencedLeaderBeanPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor {

	@Serial
	private static final long serialVersionUID = 1L;

	private final transient FencedLeaderIntrospector introspector = new FencedLeaderIntrospector();

	private final transient SingletonSupplier<LeaderElector> elector;

	private final transient SingletonSupplier<SkippedCalls> skippedCalls;

	private final transient Advisor fencedLeaderAdvisor;

	private final transient ReentrantLock lock = new ReentrantLock();

	private final transient Map<String, List<FencedLeaderMethod>> created = new LinkedHashMap<>();

	private transient @Nullable CreationListener creationListener;

	FencedLeaderBeanPostProcessor(Supplier<LeaderElector> elector, Supplier<SkippedCalls> skippedCalls) {
		this.elector = SingletonSupplier.of(elector);
		this.skippedCalls = SingletonSupplier.of(skippedCalls);
		this.fencedLeaderAdvisor = new DefaultPointcutAdvisor(new FencedLeaderPointcut(this.introspector),
				new FencedLeaderInterceptor(this.introspector, this.elector::obtain, this.skippedCalls::obtain));
		this.advisor = this.fencedLeaderAdvisor;
		setBeforeExistingAdvisors(true);
		setOrder(Ordered.LOWEST_PRECEDENCE - 2);
	}

	@Override
	public void setBeanFactory(BeanFactory beanFactory) {
		super.setBeanFactory(beanFactory);
		if (beanFactory instanceof ConfigurableBeanFactory configurableBeanFactory) {
			this.introspector.setValueResolver(configurableBeanFactory::resolveEmbeddedValue);
		}
	}

	/**
	 * Get hold of the beans that gates need now. A call that comes when the context has
	 * been closed must find its gate closed, and not ask the context for beans.
	 */
	void resolveDependencies() {
		this.elector.obtain();
		this.skippedCalls.obtain();
	}

	FencedLeaderIntrospector getIntrospector() {
		return this.introspector;
	}

	Advisor getAdvisor() {
		return this.fencedLeaderAdvisor;
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (bean instanceof AopInfrastructureBean) {
			return bean;
		}
		Class<?> targetClass = AopUtils.getTargetClass(bean);
		List<FencedLeaderMethod> methods = this.introspector.find(beanName, targetClass);
		if (methods.isEmpty()) {
			return bean;
		}
		if (!(bean instanceof Advised)) {
			requireSubclassable(methods.get(0), ClassUtils.getUserClass(targetClass));
		}
		Object proxy = super.postProcessAfterInitialization(bean, beanName);
		CreationListener listener = recordCreation(beanName, methods);
		if (listener != null) {
			listener.onCreation(beanName, proxy, methods);
		}
		return proxy;
	}

	private void requireSubclassable(FencedLeaderMethod method, Class<?> targetClass) {
		if (isProxyTargetClass() && Modifier.isFinal(targetClass.getModifiers()) && !Proxy.isProxyClass(targetClass)
				&& !ClassUtils.isLambdaClass(targetClass)) {
			throw FencedLeaderIntrospector.invalid(method,
					"is in the final class '%s', of which no proxy can be made".formatted(targetClass.getName()),
					"Remove 'final' (records and Kotlin classes are final too: in Kotlin, declare class and function 'open', or use the plugin 'kotlin-spring')");
		}
	}

	private @Nullable CreationListener recordCreation(String beanName, List<FencedLeaderMethod> methods) {
		this.lock.lock();
		try {
			if (this.creationListener == null) {
				this.created.put(beanName, methods);
			}
			return this.creationListener;
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Return the beans that were created so far, and tell a listener of all later ones.
	 * @param listener the listener
	 * @return the methods of the beans, by the name of the bean
	 */
	Map<String, List<FencedLeaderMethod>> listen(CreationListener listener) {
		this.lock.lock();
		try {
			this.creationListener = listener;
			return Map.copyOf(this.created);
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Is told of beans that are created after start-up.
	 */
	@FunctionalInterface
	interface CreationListener {

		void onCreation(String beanName, Object bean, List<FencedLeaderMethod> methods);

	}

	private static final class FencedLeaderPointcut extends StaticMethodMatcherPointcut {

		private final FencedLeaderIntrospector introspector;

		private FencedLeaderPointcut(FencedLeaderIntrospector introspector) {
			this.introspector = introspector;
			setClassFilter((type) -> AnnotationUtils.isCandidateClass(type, FencedLeader.class));
		}

		@Override
		public boolean matches(Method method, Class<?> targetClass) {
			return this.introspector.isAnnotated(method, targetClass);
		}

	}

}
