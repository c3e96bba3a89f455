package io.github.fencedleadership.annotation;

import java.io.Serial;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

import org.aopalliance.aop.Advice;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.aop.Pointcut;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.util.ClassUtils;

/**
 * Puts advice around beans with methods that are to be fenced, and remembers which beans
 * it has seen.
 *
 * @param <M> what is known of a method
 */
abstract class FencedMethodBeanPostProcessor<M extends FencedMethod>
		extends AbstractBeanFactoryAwareAdvisingPostProcessor {

	@Serial
	private static final long serialVersionUID = 1L;

	private final transient FencedMethodIntrospector<?, M> introspector;

	private final transient Pointcut pointcut;

	private final transient ReentrantLock lock = new ReentrantLock();

	private final transient Map<String, List<M>> created = new LinkedHashMap<>();

	private transient @Nullable CreationListener<M> creationListener;

	FencedMethodBeanPostProcessor(FencedMethodIntrospector<?, M> introspector) {
		this.introspector = introspector;
		this.pointcut = new FencedMethodPointcut(introspector);
	}

	/**
	 * Create an advisor for the methods that are to be fenced.
	 * @param advice the advice
	 * @return the advisor
	 */
	final Advisor advisor(Advice advice) {
		return new DefaultPointcutAdvisor(this.pointcut, advice);
	}

	@Override
	public void setBeanFactory(BeanFactory beanFactory) {
		super.setBeanFactory(beanFactory);
		if (beanFactory instanceof ConfigurableBeanFactory configurableBeanFactory) {
			this.introspector.setValueResolver(configurableBeanFactory::resolveEmbeddedValue);
		}
	}

	final FencedMethodIntrospector<?, M> getIntrospector() {
		return this.introspector;
	}

	/**
	 * Return what a bean must be advised by for its methods to be fenced.
	 * @return the advisors
	 */
	abstract List<Advisor> getAdvisors();

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (bean instanceof AopInfrastructureBean) {
			return bean;
		}
		Class<?> targetClass = AopUtils.getTargetClass(bean);
		List<M> methods = this.introspector.find(beanName, targetClass);
		if (methods.isEmpty()) {
			return bean;
		}
		if (!(bean instanceof Advised)) {
			requireSubclassable(methods.get(0), ClassUtils.getUserClass(targetClass));
		}
		Object proxy = advise(super.postProcessAfterInitialization(bean, beanName), methods);
		CreationListener<M> listener = recordCreation(beanName, methods);
		if (listener != null) {
			listener.onCreation(beanName, proxy, methods);
		}
		return proxy;
	}

	/**
	 * Add to the proxy of a bean, and check it.
	 * @param proxy the proxy
	 * @param methods the methods that are to be fenced
	 * @return the proxy
	 */
	Object advise(Object proxy, List<M> methods) {
		return proxy;
	}

	private void requireSubclassable(M method, Class<?> targetClass) {
		if (isProxyTargetClass() && Modifier.isFinal(targetClass.getModifiers()) && !Proxy.isProxyClass(targetClass)
				&& !ClassUtils.isLambdaClass(targetClass)) {
			throw this.introspector.invalid(method,
					"is in the final class '%s', of which no proxy can be made".formatted(targetClass.getName()),
					"Remove 'final' (records and Kotlin classes are final too: in Kotlin, declare class and function 'open', or use the plugin 'kotlin-spring')");
		}
	}

	private @Nullable CreationListener<M> recordCreation(String beanName, List<M> methods) {
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
	Map<String, List<M>> listen(CreationListener<M> listener) {
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
	interface CreationListener<M extends FencedMethod> {

		void onCreation(String beanName, Object bean, List<M> methods);

	}

	private static final class FencedMethodPointcut extends StaticMethodMatcherPointcut {

		private final FencedMethodIntrospector<?, ?> introspector;

		private FencedMethodPointcut(FencedMethodIntrospector<?, ?> introspector) {
			this.introspector = introspector;
			setClassFilter(introspector::isCandidate);
		}

		@Override
		public boolean matches(Method method, Class<?> targetClass) {
			return this.introspector.isAnnotated(method, targetClass);
		}

	}

}
