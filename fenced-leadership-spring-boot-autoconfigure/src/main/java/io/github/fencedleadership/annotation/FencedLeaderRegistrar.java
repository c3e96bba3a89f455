package io.github.fencedleadership.annotation;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import org.springframework.aop.scope.ScopedProxyUtils;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

import io.github.fencedleadership.annotation.FencedLeader.Mode;
import io.github.fencedleadership.annotation.FencedMethodScanner.FencedBean;
import io.github.fencedleadership.annotation.RoleSettingsResolver.Declared;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.RoleSettings;

/**
 * Once all singletons are there, looks at every bean for {@link FencedLeader} methods,
 * rejects those that would not be fenced, and registers the others with the elector.
 */
class FencedLeaderRegistrar implements SmartInitializingSingleton, DisposableBean {

	private final ConfigurableListableBeanFactory beanFactory;

	private final FencedLeaderBeanPostProcessor postProcessor;

	private final FencedMethodIntrospector<?, FencedLeaderMethod> introspector;

	private final FencedMethodScanner<FencedLeaderMethod> scanner;

	private final FencedLeaderMethodRegistry registry;

	private final LeaderElector elector;

	private final RoleSettingsResolver settingsResolver;

	private final List<LeaderElector.Registration> registrations = new ArrayList<>();

	FencedLeaderRegistrar(ConfigurableListableBeanFactory beanFactory, FencedLeaderBeanPostProcessor postProcessor,
			FencedLeaderMethodRegistry registry, LeaderElector elector, RoleSettingsResolver settingsResolver) {
		this.beanFactory = beanFactory;
		this.postProcessor = postProcessor;
		this.introspector = postProcessor.getIntrospector();
		this.scanner = new FencedMethodScanner<>(beanFactory, postProcessor);
		this.registry = registry;
		this.elector = elector;
		this.settingsResolver = settingsResolver;
	}

	@Override
	public void afterSingletonsInstantiated() {
		this.postProcessor.resolveDependencies();
		List<FencedBean<FencedLeaderMethod>> beans = this.scanner.scan();
		beans.forEach(this::requireRegistrable);
		Set<String> inspected = beans.stream().map(FencedBean::name).collect(Collectors.toSet());
		this.postProcessor.listen(this::addLate).forEach((name, methods) -> {
			if (!inspected.contains(name)) {
				throw this.introspector.invalid(methods.get(0),
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

	private void requireRegistrable(FencedBean<FencedLeaderMethod> bean) {
		if (!bean.singleton()) {
			throw notSingleton(bean.methods().get(0));
		}
		if (bean.instance() == null) {
			requireNoneToRun(bean.methods());
		}
	}

	private InvalidFencedMethodException notSingleton(FencedLeaderMethod method) {
		return this.introspector.invalid(method, "is in a bean that is not a singleton",
				"Make the bean a singleton, or move the method to one");
	}

	private void requireNoneToRun(List<FencedLeaderMethod> methods) {
		methods.stream().filter((method) -> method.mode() == Mode.RUN).findFirst().ifPresent((method) -> {
			throw this.introspector.invalid(method,
					"is to be run when this node becomes leader, but its bean is created lazily",
					"Remove @Lazy, or declare the bean with its class as type, so that it is created at start-up");
		});
	}

	private void registerWork(FencedBean<FencedLeaderMethod> bean, Map<String, @Nullable RoleSettings> settings) {
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
			this.scanner.requireAdvised(method, bean);
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

	private @Nullable Duration agree(List<FencedLeaderMethod> methods, String attribute,
			Function<Declared, @Nullable Duration> value) {
		FencedLeaderMethod first = null;
		for (FencedLeaderMethod method : methods) {
			Duration stated = value.apply(method.declared());
			if (stated == null) {
				continue;
			}
			if (first != null && !Objects.equals(value.apply(first.declared()), stated)) {
				throw this.introspector.invalid(method,
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

}
