package io.github.fencedleadership.annotation;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.Advisor;
import org.springframework.aop.SpringProxy;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;

/**
 * Looks at every bean for methods that are to be fenced, and rejects those that would not
 * be, although their class does not show it.
 *
 * @param <M> what is known of a method
 */
class FencedMethodScanner<M extends FencedMethod> {

	private static final Log logger = LogFactory.getLog(FencedMethodScanner.class);

	private final ConfigurableListableBeanFactory beanFactory;

	private final FencedMethodIntrospector<?, M> introspector;

	private final List<Advisor> advisors;

	FencedMethodScanner(ConfigurableListableBeanFactory beanFactory, FencedMethodBeanPostProcessor<M> postProcessor) {
		this.beanFactory = beanFactory;
		this.introspector = postProcessor.getIntrospector();
		this.advisors = postProcessor.getAdvisors();
	}

	/**
	 * Look at all beans.
	 * @return those with methods that are to be fenced
	 * @throws InvalidFencedMethodException if one of them would not be fenced
	 */
	List<FencedBean<M>> scan() {
		List<FencedBean<M>> beans = new ArrayList<>();
		Set<String> names = new LinkedHashSet<>(List.of(this.beanFactory.getBeanDefinitionNames()));
		names.addAll(List.of(this.beanFactory.getSingletonNames()));
		names.forEach((name) -> inspect(name, beans));
		return beans;
	}

	private void inspect(String beanName, List<FencedBean<M>> beans) {
		if (this.beanFactory.containsBeanDefinition(beanName)
				&& this.beanFactory.getMergedBeanDefinition(beanName).isAbstract()) {
			return;
		}
		if (this.beanFactory.containsBeanDefinition(ScopedProxyUtils.getTargetBeanName(beanName))) {
			// A scoped proxy; what it stands for is looked at on its own
			return;
		}
		Object instance = this.beanFactory.getSingleton(beanName);
		if (instance instanceof FactoryBean<?>) {
			inspect(beanName, BeanFactory.FACTORY_BEAN_PREFIX + beanName, instance.getClass(), instance, beans);
			Class<?> productType = this.beanFactory.getType(beanName, false);
			if (productType != null && !this.introspector.select(ClassUtils.getUserClass(productType)).isEmpty()) {
				Object product = this.beanFactory.isSingleton(beanName) ? this.beanFactory.getBean(beanName) : null;
				inspect(beanName, beanName, productType, product, beans);
			}
			return;
		}
		Class<?> type = (instance != null) ? instance.getClass() : determineType(beanName);
		if (type != null) {
			inspect(beanName, beanName, type, instance, beans);
		}
	}

	private @Nullable Class<?> determineType(String beanName) {
		try {
			return AutoProxyUtils.determineTargetClass(this.beanFactory, beanName);
		}
		catch (Exception | LinkageError ex) {
			// As with all scans of bean types: an optional class may be missing
			logger.debug("Type of bean '%s' cannot be determined".formatted(beanName), ex);
			return null;
		}
	}

	private void inspect(String beanName, String lookupName, Class<?> type, @Nullable Object instance,
			List<FencedBean<M>> beans) {
		String displayName = ScopedProxyUtils.isScopedTarget(beanName) ? ScopedProxyUtils.getOriginalBeanName(beanName)
				: beanName;
		Object target = (instance != null) ? Targets.ultimateTarget(instance) : null;
		Class<?> targetClass = ClassUtils.getUserClass((target != null) ? target.getClass() : type);
		if (instance != null) {
			requireVisible(displayName, instance.getClass(), targetClass);
		}
		List<M> methods = this.introspector.find(displayName, targetClass);
		if (methods.isEmpty() || (target != null && Mocks.isMock(target))) {
			return;
		}
		if (instance != null) {
			methods.forEach((method) -> requireAdvised(method, instance));
		}
		boolean singleton = this.beanFactory.isSingleton(lookupName);
		beans.add(new FencedBean<>(beanName, singleton, instance, target, targetClass, methods));
	}

	/**
	 * Reject annotations on the interfaces of a proxy that its target does not implement,
	 * as with a generated repository: the target's class, by which it is decided whether
	 * to advise a bean, does not show them.
	 */
	private void requireVisible(String beanName, Class<?> beanClass, Class<?> targetClass) {
		if (beanClass == targetClass || !isProxyClass(beanClass)) {
			return;
		}
		Set<Method> visible = this.introspector.select(targetClass).keySet();
		for (Class<?> type : ClassUtils.getAllInterfacesForClassAsSet(beanClass)) {
			this.introspector.select(type).keySet().forEach((method) -> {
				if (!visible.contains(AopUtils.getMostSpecificMethod(method, targetClass))) {
					throw this.introspector.invalid(beanName, method,
							"is declared by an interface of a proxy, and its target of type '%s' does not implement that interface, so that it would run unfenced"
								.formatted(targetClass.getName()),
							"Annotate a method of a bean that calls it", null);
				}
			});
		}
	}

	private static boolean isProxyClass(Class<?> type) {
		return Proxy.isProxyClass(type) || SpringProxy.class.isAssignableFrom(type);
	}

	/**
	 * Reject a method whose calls do not pass the advice that fences them.
	 * @param method the method
	 * @param instance the bean
	 */
	void requireAdvised(M method, Object instance) {
		if (!this.advisors.stream().allMatch((advisor) -> Targets.isAdvised(instance, advisor))) {
			throw this.introspector.invalid(method,
					"would run unfenced, because the bean is not proxied: it was created before the post-processors were registered, or registered as an object",
					"Let the container create the bean, and let no BeanPostProcessor or BeanFactoryPostProcessor depend on it (make their @Bean methods static)");
		}
		if (AopUtils.isJdkDynamicProxy(instance)) {
			requireExposed(method, instance);
		}
		else if (!overrides(instance.getClass(), method.method())) {
			throw this.introspector
				.invalid(method, "would run unfenced, because the proxy of class '%s' does not override it"
					.formatted(instance.getClass().getName()), "Make the method public or protected, and not final");
		}
	}

	private void requireExposed(M method, Object instance) {
		try {
			AopUtils.selectInvocableMethod(method.method(), instance.getClass());
		}
		catch (IllegalStateException ex) {
			throw this.introspector.invalid(method.beanName(), method.method(),
					"is not in any interface of the bean, which has a JDK proxy",
					"Declare it in an interface of the bean, or set 'spring.aop.proxy-target-class' to 'true'", ex);
		}
	}

	private static boolean overrides(Class<?> proxyClass, Method method) {
		return Arrays.stream(proxyClass.getDeclaredMethods())
			.anyMatch((candidate) -> candidate.getName().equals(method.getName())
					&& Arrays.equals(candidate.getParameterTypes(), method.getParameterTypes()));
	}

	/**
	 * A bean with methods that are to be fenced.
	 *
	 * @param name the name of the bean
	 * @param singleton whether there is one instance of it
	 * @param instance the instance, {@code null} if there is none yet
	 * @param target what the proxies of the instance stand for
	 * @param targetClass the class of the target
	 * @param methods the methods
	 * @param <M> what is known of a method
	 */
	record FencedBean<M extends FencedMethod>(String name, boolean singleton, @Nullable Object instance,
			@Nullable Object target, Class<?> targetClass, List<M> methods) {

	}

}
