package io.github.fencedleadership.annotation;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.stream.BaseStream;

import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.MethodClassKey;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.Schedules;
import org.springframework.util.ClassUtils;
import org.springframework.util.ConcurrentReferenceHashMap;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.StringUtils;
import org.springframework.util.StringValueResolver;

import io.github.fencedleadership.annotation.FencedLeader.Mode;
import io.github.fencedleadership.annotation.FencedLeader.Otherwise;
import io.github.fencedleadership.annotation.RoleSettingsResolver.Declared;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.lease.Roles;

/**
 * Finds the {@link FencedLeader @FencedLeader} methods of a class, and rejects those that
 * can be seen, from the class alone, not to be fenceable.
 */
class FencedLeaderIntrospector {

	/**
	 * Annotations whose methods consume a message: skipping the call would lose it.
	 */
	private static final List<String> MESSAGE_LISTENERS = List.of("org.springframework.kafka.annotation.KafkaListener",
			"org.springframework.kafka.annotation.KafkaListeners", "org.springframework.kafka.annotation.KafkaHandler",
			"org.springframework.amqp.rabbit.annotation.RabbitListener",
			"org.springframework.amqp.rabbit.annotation.RabbitListeners",
			"org.springframework.amqp.rabbit.annotation.RabbitHandler",
			"org.springframework.jms.annotation.JmsListener", "org.springframework.jms.annotation.JmsListeners",
			"org.springframework.pulsar.annotation.PulsarListener",
			"org.springframework.pulsar.annotation.PulsarListeners",
			"org.springframework.integration.annotation.ServiceActivator",
			"io.awspring.cloud.sqs.annotation.SqsListener");

	private static final List<String> TRANSACTIONAL = List.of(
			"org.springframework.transaction.annotation.Transactional", "jakarta.transaction.Transactional",
			"jakarta.ejb.TransactionAttribute");

	/**
	 * Types of results that are made after the call has returned, and so outside of the
	 * term.
	 */
	private static final List<String> DEFERRED_RESULTS = List.of("org.reactivestreams.Publisher",
			"kotlinx.coroutines.flow.Flow", "kotlinx.coroutines.Job",
			"org.springframework.web.context.request.async.DeferredResult",
			"org.springframework.web.context.request.async.WebAsyncTask",
			"org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter",
			"org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody");

	private final Map<Class<?>, Map<Method, FencedLeader>> selected = new ConcurrentReferenceHashMap<>();

	private final Map<MethodClassKey, FencedLeaderMethod> cache = new ConcurrentHashMap<>();

	private @Nullable StringValueResolver valueResolver;

	void setValueResolver(StringValueResolver valueResolver) {
		this.valueResolver = valueResolver;
	}

	/**
	 * Return whether a method of a class carries the annotation.
	 * @param method the method, possibly that of an interface
	 * @param targetClass the class
	 * @return whether the annotation was found
	 */
	boolean isAnnotated(Method method, Class<?> targetClass) {
		return select(ClassUtils.getUserClass(targetClass)).containsKey(specificMethod(method, targetClass));
	}

	/**
	 * Return a method that is known to be annotated, without validating it.
	 * @param method the method, possibly that of an interface
	 * @param targetClass the class of the target
	 * @return the description, {@code null} if the method is not annotated
	 */
	@Nullable FencedLeaderMethod describe(Method method, Class<?> targetClass) {
		return this.cache.computeIfAbsent(new MethodClassKey(method, targetClass), (key) -> {
			Method specificMethod = specificMethod(method, targetClass);
			FencedLeader annotation = select(ClassUtils.getUserClass(targetClass)).get(specificMethod);
			return (annotation != null)
					? describe(ClassUtils.getShortNameAsProperty(ClassUtils.getUserClass(targetClass)), specificMethod,
							annotation)
					: null;
		});
	}

	/**
	 * Return the validated methods of a bean.
	 * @param beanName the name of the bean
	 * @param beanClass the class of the bean, or of its target
	 * @return the methods
	 * @throws InvalidFencedLeaderException if one of them cannot be fenced
	 */
	List<FencedLeaderMethod> find(String beanName, Class<?> beanClass) {
		Class<?> targetClass = ClassUtils.getUserClass(beanClass);
		Map<Method, FencedLeader> annotated = select(targetClass);
		return annotated.entrySet().stream().map((entry) -> {
			FencedLeaderMethod method = describe(beanName, entry.getKey(), entry.getValue());
			validate(method, targetClass);
			return method;
		}).toList();
	}

	/**
	 * Return the annotated methods of a class. An annotation of an interface goes for the
	 * method that implements it, even if that comes from a superclass which knows nothing
	 * of the interface; so it takes a look at the class as a whole.
	 * @param targetClass the class
	 * @return the methods and their annotations
	 */
	Map<Method, FencedLeader> select(Class<?> targetClass) {
		if (!AnnotationUtils.isCandidateClass(targetClass, FencedLeader.class)) {
			return Map.of();
		}
		return this.selected.computeIfAbsent(targetClass, FencedLeaderIntrospector::selectMethods);
	}

	private static Map<Method, FencedLeader> selectMethods(Class<?> targetClass) {
		Map<Method, FencedLeader> annotated = new LinkedHashMap<>();
		Set<Class<?>> types = new LinkedHashSet<>();
		if (!Proxy.isProxyClass(targetClass)) {
			types.add(targetClass);
		}
		types.addAll(ClassUtils.getAllInterfacesForClassAsSet(targetClass));
		for (Class<?> type : types) {
			ReflectionUtils.doWithMethods(type, (method) -> {
				Method specificMethod = specificMethod(method, targetClass);
				if (!annotated.containsKey(specificMethod)) {
					FencedLeader annotation = findAnnotation(method, specificMethod);
					if (annotation != null) {
						annotated.put(specificMethod, annotation);
					}
				}
			}, ReflectionUtils.USER_DECLARED_METHODS);
		}
		return annotated.isEmpty() ? Map.of() : annotated;
	}

	private static Method specificMethod(Method method, Class<?> targetClass) {
		Class<?> userClass = ClassUtils.getUserClass(targetClass);
		// The methods of such classes say nothing that those of the interface do not
		if (Proxy.isProxyClass(userClass) || ClassUtils.isLambdaClass(userClass)) {
			return method;
		}
		return AopUtils.getMostSpecificMethod(method, userClass);
	}

	private static @Nullable FencedLeader findAnnotation(Method method, Method specificMethod) {
		FencedLeader annotation = AnnotatedElementUtils.findMergedAnnotation(specificMethod, FencedLeader.class);
		return (annotation != null || specificMethod.equals(method)) ? annotation
				: AnnotatedElementUtils.findMergedAnnotation(method, FencedLeader.class);
	}

	private FencedLeaderMethod describe(String beanName, Method method, FencedLeader annotation) {
		Mode mode = annotation.mode();
		if (mode == Mode.AUTO) {
			mode = isScheduled(method) ? Mode.GATE : Mode.RUN;
		}
		String role = resolve(annotation.role());
		if (!StringUtils.hasText(role)) {
			throw new InvalidFencedLeaderException(beanName, method, "names no role",
					"State the role, as in @FencedLeader(\"reports\")", null);
		}
		if (!Roles.isValid(role)) {
			throw new InvalidFencedLeaderException(beanName, method, "names the invalid role '%s'".formatted(role),
					"Use 1 to %d characters, each an ASCII letter or digit or one of '._:-'"
						.formatted(Roles.MAX_LENGTH),
					null);
		}
		Declared declared = new Declared(duration(beanName, method, "leaseTtl", annotation.leaseTtl()),
				duration(beanName, method, "renewInterval", annotation.renewInterval()),
				duration(beanName, method, "stallTimeout", annotation.stallTimeout()));
		return new FencedLeaderMethod(beanName, method, role, mode, annotation.otherwise(), declared);
	}

	private @Nullable Duration duration(String beanName, Method method, String attribute, String text) {
		String value = resolve(text);
		if (!StringUtils.hasText(value)) {
			return null;
		}
		try {
			Duration duration = DurationStyle.detectAndParse(value.strip());
			if (duration.isNegative()) {
				throw new IllegalArgumentException("Duration '%s' is negative".formatted(value));
			}
			return duration;
		}
		catch (IllegalArgumentException | ArithmeticException ex) {
			throw new InvalidFencedLeaderException(beanName, method,
					"has an unusable %s '%s'".formatted(attribute, value), "Use a duration such as '30s' or 'PT30S'",
					ex);
		}
	}

	private String resolve(String text) {
		String resolved = (this.valueResolver != null) ? this.valueResolver.resolveStringValue(text) : text;
		return (resolved != null) ? resolved : "";
	}

	private void validate(FencedLeaderMethod method, Class<?> targetClass) {
		requireOverridable(method, targetClass);
		requireSynchronous(method, targetClass);
		if (method.mode() == Mode.RUN) {
			requireRunnable(method, targetClass);
		}
		else {
			requireGateable(method);
		}
	}

	private void requireOverridable(FencedLeaderMethod method, Class<?> targetClass) {
		Method candidate = method.method();
		int modifiers = candidate.getModifiers();
		if (Modifier.isPrivate(modifiers)) {
			throw invalid(method, "is private, so that no proxy can see its calls", "Give it another visibility");
		}
		if (Modifier.isStatic(modifiers)) {
			throw invalid(method, "is static, so that no proxy can see its calls", "Make it an instance method");
		}
		if (Modifier.isFinal(modifiers)) {
			throw invalid(method, "is final, so that it would run unfenced",
					"Remove 'final' (in Kotlin, declare the function and its class 'open', or use the plugin 'kotlin-spring')");
		}
		boolean packagePrivate = (modifiers & (Modifier.PUBLIC | Modifier.PROTECTED)) == 0;
		Class<?> declaringClass = candidate.getDeclaringClass();
		if (packagePrivate && (!declaringClass.getPackageName().equals(targetClass.getPackageName())
				|| declaringClass.getClassLoader() != targetClass.getClassLoader())) {
			throw invalid(method, "is package-private in another package than '%s', so that no proxy can override it"
				.formatted(targetClass.getName()), "Make it protected or public");
		}
	}

	private void requireSynchronous(FencedLeaderMethod method, Class<?> targetClass) {
		Method candidate = method.method();
		if (AnnotatedElementUtils.hasAnnotation(candidate, Async.class)
				|| AnnotatedElementUtils.hasAnnotation(targetClass, Async.class)) {
			throw invalid(method, "is @Async, so that its caller would not know whether it ran",
					(method.mode() == Mode.RUN) ? "Remove @Async: the method is run on a thread of its own"
							: "Move the gate to a method that is called by the asynchronous one");
		}
		Class<?>[] parameterTypes = candidate.getParameterTypes();
		if (parameterTypes.length > 0
				&& parameterTypes[parameterTypes.length - 1].getName().equals("kotlin.coroutines.Continuation")) {
			throw invalid(method, "is a suspending function, which goes on after the call has returned",
					"Use a blocking function");
		}
		if (isDeferred(candidate.getReturnType())) {
			throw invalid(method,
					"returns '%s', whose work would go on outside of the term"
						.formatted(ClassUtils.getQualifiedName(candidate.getReturnType())),
					"Do the work before the method returns, and return its result");
		}
	}

	private void requireRunnable(FencedLeaderMethod method, Class<?> targetClass) {
		Method candidate = method.method();
		if (isScheduled(candidate)) {
			throw invalid(method, "is run once per term and so cannot be @Scheduled too",
					"Remove @Scheduled, or declare mode = Mode.GATE");
		}
		String listener = messageListener(candidate);
		if (listener != null) {
			throw invalid(method, "is run once per term and so cannot be a @%s too".formatted(listener),
					"Declare mode = Mode.GATE and otherwise = Otherwise.THROW");
		}
		if (candidate.getReturnType() != void.class) {
			throw invalid(method,
					"is run once per term and must return nothing, not '%s'"
						.formatted(ClassUtils.getQualifiedName(candidate.getReturnType())),
					"Return void, or declare mode = Mode.GATE if something else calls it");
		}
		Class<?>[] parameterTypes = candidate.getParameterTypes();
		if (parameterTypes.length > 1 || (parameterTypes.length == 1 && parameterTypes[0] != long.class
				&& parameterTypes[0] != Leadership.class)) {
			throw invalid(method, "is run once per term and takes unsupported parameters",
					"Take none, a 'long' (the fencing token) or a 'Leadership', or declare mode = Mode.GATE if something else calls it");
		}
		String transactional = transactional(candidate, targetClass);
		if (transactional != null) {
			throw invalid(method,
					"is @%s, so that a single transaction would stay open for a whole term".formatted(transactional),
					"Put the transaction around each step: on a method of another bean, or with a TransactionTemplate");
		}
	}

	private void requireGateable(FencedLeaderMethod method) {
		Method candidate = method.method();
		if (isScheduled(candidate) && candidate.getParameterCount() > 0) {
			throw invalid(method, "is @Scheduled and takes parameters",
					"Take none: the token is that of Leadership.current()");
		}
		if (method.otherwise() == Otherwise.THROW) {
			return;
		}
		String listener = messageListener(candidate);
		if (listener != null) {
			throw invalid(method, "is a @%s, and skipping its call would lose the message".formatted(listener),
					"Declare otherwise = Otherwise.THROW so that the message is redelivered, or start the listener's container on the leader only");
		}
		Class<?> returnType = candidate.getReturnType();
		if (returnType.isPrimitive() && returnType != void.class) {
			throw invalid(method,
					"returns the primitive '%s', for which a skipped call has no value".formatted(returnType),
					"Return '%s' or an Optional, or declare otherwise = Otherwise.THROW"
						.formatted(ClassUtils.resolvePrimitiveIfNecessary(returnType).getSimpleName()));
		}
	}

	private static boolean isScheduled(Method method) {
		return AnnotatedElementUtils.hasAnnotation(method, Scheduled.class)
				|| AnnotatedElementUtils.hasAnnotation(method, Schedules.class);
	}

	private static @Nullable String messageListener(Method method) {
		MergedAnnotations annotations = MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY);
		return present(annotations, MESSAGE_LISTENERS);
	}

	private static @Nullable String transactional(Method method, Class<?> targetClass) {
		String onMethod = present(MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY), TRANSACTIONAL);
		return (onMethod != null) ? onMethod
				: present(MergedAnnotations.from(targetClass, SearchStrategy.TYPE_HIERARCHY), TRANSACTIONAL);
	}

	private static @Nullable String present(MergedAnnotations annotations, List<String> names) {
		return names.stream().filter(annotations::isPresent).map(ClassUtils::getShortName).findFirst().orElse(null);
	}

	private static boolean isDeferred(Class<?> type) {
		return Future.class.isAssignableFrom(type) || Callable.class.isAssignableFrom(type)
				|| BaseStream.class.isAssignableFrom(type)
				|| ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null
				|| DEFERRED_RESULTS.stream().anyMatch((name) -> isSubtype(type, name));
	}

	private static boolean isSubtype(@Nullable Class<?> type, String name) {
		for (Class<?> candidate = type; candidate != null; candidate = candidate.getSuperclass()) {
			if (candidate.getName().equals(name)) {
				return true;
			}
			for (Class<?> candidateInterface : candidate.getInterfaces()) {
				if (isSubtype(candidateInterface, name)) {
					return true;
				}
			}
		}
		return false;
	}

	static InvalidFencedLeaderException invalid(FencedLeaderMethod method, String reason, String remedy) {
		return new InvalidFencedLeaderException(method.beanName(), method.method(), reason, remedy, null);
	}

	static @Nullable Object emptyResult(Class<?> returnType) {
		if (returnType == Optional.class) {
			return Optional.empty();
		}
		if (returnType == OptionalInt.class) {
			return OptionalInt.empty();
		}
		if (returnType == OptionalLong.class) {
			return OptionalLong.empty();
		}
		return (returnType == OptionalDouble.class) ? OptionalDouble.empty() : null;
	}

}
