package io.github.fencedleadership.annotation;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.SpringProxy;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;

import io.github.fencedleadership.annotation.FencedLeader.Mode;
import io.github.fencedleadership.annotation.RoleSettingsResolver.Declared;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.RoleSettings;

/**
 * Once all singletons are there, looks at every bean for {@link FencedLeader} methods,
 * rejects those that would not be fenced, and registers the others with the elector.
 */
class FencedLeaderRegistrar implements SmartInitializingSingleton, DisposableBean {

	private static final Log logger = LogFactory.getLog(FencedLeaderRegistrar.class);

	private final ConfigurableListableBeanFactory beanFactory;

	private final FencedLeaderBeanPostProcessor postProcessor;

	private final FencedLeaderIntrospector introspector;

	private final FencedLeaderMethodRegistry registry;

	private final LeaderElector elector;

	private final RoleSettingsResolver settingsResolver;

	private final List<LeaderElector.Registration> registrations = new ArrayList<>();

	FencedLeaderRegistrar(ConfigurableListableBeanFactory beanFactory, FencedLeaderBeanPostProcessor postProcessor,
			FencedLeaderMethodRegistry registry, LeaderElector elector, RoleSettingsResolver settingsResolver) {
		this.beanFactory = beanFactory;
		this.postProcessor = postProcessor;
		this.introspector = postProcessor.getIntrospector();
		this.registry = registry;
		this.elector = elector;
		this.settingsResolver = settingsResolver;
	}

	@Override
	public void afterSingletonsInstantiated() {
		this.postProcessor.resolveDependencies();
		List<LeaderBean> beans = new ArrayList<>();
		Set<String> names = new LinkedHashSet<>(List.of(this.beanFactory.getBeanDefinitionNames()));
		names.addAll(List.of(this.beanFactory.getSingletonNames()));
		names.forEach((name) -> inspect(name, beans));
		Set<String> inspected = beans.stream().map(LeaderBean::name).collect(Collectors.toSet());
		this.postProcessor.listen(this::addLate).forEach((name, methods) -> {
			if (!inspected.contains(name)) {
				throw FencedLeaderIntrospector.invalid(methods.get(0),
						"is in an object that is not a bean of its own (an inner bean, perhaps)",
						"Declare it as a bean of the application context");
			}
		});
		beans.forEach((bean) -> bean.methods().forEach(this.registry::add));
		Map<String, @Nullable RoleSettings> settings = new LinkedHashMap<>();
		for (String role : roles(this.registry.getMethods())) {
			settings.put(role, resolveSettings(role));
		}
		beans.forEach((bean) -> registerWork(bean, settings));
		settings.forEach(this::registerGates);
	}

	private void inspect(String beanName, List<LeaderBean> beans) {
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
			List<LeaderBean> beans) {
		String displayName = ScopedProxyUtils.isScopedTarget(beanName) ? ScopedProxyUtils.getOriginalBeanName(beanName)
				: beanName;
		Object target = (instance != null) ? Targets.ultimateTarget(instance) : null;
		Class<?> targetClass = ClassUtils.getUserClass((target != null) ? target.getClass() : type);
		if (instance != null) {
			requireVisible(displayName, instance.getClass(), targetClass);
		}
		List<FencedLeaderMethod> methods = this.introspector.find(displayName, targetClass);
		if (methods.isEmpty() || (target != null && Mocks.isMock(target))) {
			return;
		}
		if (!this.beanFactory.isSingleton(lookupName)) {
			throw notSingleton(methods.get(0));
		}
		if (instance != null) {
			methods.forEach((method) -> requireAdvised(method, instance));
		}
		else {
			requireNoneToRun(methods);
		}
		beans.add(new LeaderBean(beanName, instance, target, methods));
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
					throw new InvalidFencedLeaderException(beanName, method,
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

	private static InvalidFencedLeaderException notSingleton(FencedLeaderMethod method) {
		return FencedLeaderIntrospector.invalid(method, "is in a bean that is not a singleton",
				"Make the bean a singleton, or move the method to one");
	}

	private void requireAdvised(FencedLeaderMethod method, Object instance) {
		if (!Targets.isAdvised(instance, this.postProcessor.getAdvisor())) {
			throw FencedLeaderIntrospector.invalid(method,
					"would run unfenced, because the bean is not proxied: it was created before the post-processors were registered, or registered as an object",
					"Let the container create the bean, and let no BeanPostProcessor or BeanFactoryPostProcessor depend on it (make their @Bean methods static)");
		}
		if (AopUtils.isJdkDynamicProxy(instance)) {
			requireExposed(method, instance);
		}
		else if (!overrides(instance.getClass(), method.method())) {
			throw FencedLeaderIntrospector
				.invalid(method, "would run unfenced, because the proxy of class '%s' does not override it"
					.formatted(instance.getClass().getName()), "Make the method public or protected, and not final");
		}
	}

	private static void requireExposed(FencedLeaderMethod method, Object instance) {
		try {
			AopUtils.selectInvocableMethod(method.method(), instance.getClass());
		}
		catch (IllegalStateException ex) {
			throw new InvalidFencedLeaderException(method.beanName(), method.method(),
					"is not in any interface of the bean, which has a JDK proxy",
					"Declare it in an interface of the bean, or set 'spring.aop.proxy-target-class' to 'true'", ex);
		}
	}

	private static boolean overrides(Class<?> proxyClass, Method method) {
		return Arrays.stream(proxyClass.getDeclaredMethods())
			.anyMatch((candidate) -> candidate.getName().equals(method.getName())
					&& Arrays.equals(candidate.getParameterTypes(), method.getParameterTypes()));
	}

	private static void requireNoneToRun(List<FencedLeaderMethod> methods) {
		methods.stream().filter((method) -> method.mode() == Mode.RUN).findFirst().ifPresent((method) -> {
			throw FencedLeaderIntrospector.invalid(method,
					"is to be run when this node becomes leader, but its bean is created lazily",
					"Remove @Lazy, or declare the bean with its class as type, so that it is created at start-up");
		});
	}

	private void registerWork(LeaderBean bean, Map<String, @Nullable RoleSettings> settings) {
		if (bean.instance() == null || bean.target() == null) {
			return;
		}
		for (FencedLeaderMethod method : bean.methods()) {
			if (method.mode() == Mode.RUN) {
				register(method, new LeaderTask(method.role(), method.description(), settings.get(method.role()),
						new TermWork(bean.instance(), bean.target(), method.method())));
			}
		}
	}

	private void registerGates(String role, @Nullable RoleSettings settings) {
		List<FencedLeaderMethod> gates = this.registry.getMethods()
			.stream()
			.filter((method) -> method.mode() == Mode.GATE && method.role().equals(role))
			.toList();
		if (!gates.isEmpty()) {
			String description = gates.stream().map(FencedLeaderMethod::description).collect(Collectors.joining(", "));
			register(gates.get(0), new LeaderTask(role, description, settings, null));
		}
	}

	private void register(FencedLeaderMethod method, LeaderTask task) {
		try {
			LeaderElector.Registration registration = this.elector.register(task);
			synchronized (this.registrations) {
				this.registrations.add(registration);
			}
		}
		catch (IllegalArgumentException ex) {
			throw new InvalidFencedLeaderException(method.beanName(), method.method(),
					"cannot be registered: " + ex.getMessage(),
					"Let all tasks of role '%s' state the same settings".formatted(method.role()), ex);
		}
	}

	/**
	 * Add a bean that was created after start-up, and whose class did not show before.
	 */
	private synchronized void addLate(String beanName, Object bean, List<FencedLeaderMethod> methods) {
		List<FencedLeaderMethod> known = this.registry.getMethods();
		for (FencedLeaderMethod method : methods) {
			if (!this.beanFactory.containsBean(beanName) || !this.beanFactory.isSingleton(beanName)) {
				throw notSingleton(method);
			}
			requireAdvised(method, bean);
			if (known.stream().anyMatch((other) -> isSame(other, beanName, method))) {
				continue;
			}
			requireNoneToRun(List.of(method));
			boolean held = known.stream().anyMatch((other) -> other.role().equals(method.role()));
			this.registry.add(method);
			RoleSettings settings = resolveSettings(method.role());
			if (!held) {
				registerGates(method.role(), settings);
			}
		}
	}

	private static boolean isSame(FencedLeaderMethod known, String beanName, FencedLeaderMethod method) {
		boolean sameBean = known.beanName().equals(beanName)
				|| ScopedProxyUtils.getTargetBeanName(known.beanName()).equals(beanName);
		return sameBean && known.method().equals(method.method());
	}

	private @Nullable RoleSettings resolveSettings(String role) {
		List<FencedLeaderMethod> methods = this.registry.getMethods()
			.stream()
			.filter((method) -> method.role().equals(role))
			.toList();
		Declared declared = new Declared(agree(methods, "leaseTtl", Declared::leaseTtl),
				agree(methods, "renewInterval", Declared::renewInterval),
				agree(methods, "stallTimeout", Declared::stallTimeout));
		try {
			return this.settingsResolver.resolve(role, declared);
		}
		catch (IllegalArgumentException ex) {
			FencedLeaderMethod method = methods.stream()
				.filter((candidate) -> !candidate.declared().isEmpty())
				.findFirst()
				.orElse(methods.get(0));
			throw new InvalidFencedLeaderException(method.beanName(), method.method(),
					"gives role '%s' settings that do not fit: %s".formatted(role, ex.getMessage()),
					"Change the attributes of the annotation, or the properties under 'fenced-leadership.roles.%s'"
						.formatted(role),
					ex);
		}
	}

	private static @Nullable Duration agree(List<FencedLeaderMethod> methods, String attribute,
			Function<Declared, @Nullable Duration> value) {
		FencedLeaderMethod first = null;
		for (FencedLeaderMethod method : methods) {
			Duration stated = value.apply(method.declared());
			if (stated == null) {
				continue;
			}
			if (first != null && !Objects.equals(value.apply(first.declared()), stated)) {
				throw FencedLeaderIntrospector.invalid(method,
						"states %s '%s' for role '%s', and '%s' states '%s'".formatted(attribute, stated, method.role(),
								first.description(), value.apply(first.declared())),
						"State the same in both, or in one of them only");
			}
			first = method;
		}
		return (first != null) ? value.apply(first.declared()) : null;
	}

	private static Set<String> roles(List<FencedLeaderMethod> methods) {
		return methods.stream().map(FencedLeaderMethod::role).collect(Collectors.toCollection(LinkedHashSet::new));
	}

	@Override
	public void destroy() {
		synchronized (this.registrations) {
			this.registrations.forEach(LeaderElector.Registration::close);
			this.registrations.clear();
		}
	}

	private record LeaderBean(String name, @Nullable Object instance, @Nullable Object target,
			List<FencedLeaderMethod> methods) {

	}

}
