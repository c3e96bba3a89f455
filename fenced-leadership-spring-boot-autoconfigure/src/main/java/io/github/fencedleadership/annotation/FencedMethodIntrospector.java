package io.github.fencedleadership.annotation;

import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.stream.BaseStream;

import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;
import org.springframework.core.MethodClassKey;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.scheduling.annotation.Async;
import org.springframework.util.ClassUtils;
import org.springframework.util.ConcurrentReferenceHashMap;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.StringValueResolver;

/**
 * Finds the methods of a class that carry an annotation which fences them, and rejects
 * those that can be seen, from the class alone, not to be fenceable.
 *
 * @param <A> the annotation
 * @param <M> what is known of a method
 */
abstract class FencedMethodIntrospector<A extends Annotation, M extends FencedMethod> {

	/**
	 * Types of results that are made after the call has returned, and so outside of what
	 * is fenced.
	 */
	private static final List<String> DEFERRED_RESULTS = List.of("org.reactivestreams.Publisher",
			"kotlinx.coroutines.flow.Flow", "kotlinx.coroutines.Job",
			"org.springframework.web.context.request.async.DeferredResult",
			"org.springframework.web.context.request.async.WebAsyncTask",
			"org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter",
			"org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody");

	private final Map<Class<?>, Map<Method, A>> selected = new ConcurrentReferenceHashMap<>();

	private final Map<MethodClassKey, M> cache = new ConcurrentHashMap<>();

	private final Class<A> annotationType;

	private @Nullable StringValueResolver valueResolver;

	FencedMethodIntrospector(Class<A> annotationType) {
		this.annotationType = annotationType;
	}

	/**
	 * Describe an annotated method, with everything resolved.
	 * @param beanName the name of the bean
	 * @param method the method of the bean's class
	 * @param annotation the annotation, with its attributes merged
	 * @return the description
	 * @throws InvalidFencedMethodException if an attribute cannot be used
	 */
	abstract M describe(String beanName, Method method, A annotation);

	/**
	 * Reject a method that cannot be fenced.
	 * @param method the method
	 * @param targetClass the class of the bean
	 * @throws InvalidFencedMethodException if it cannot be fenced
	 */
	abstract void validate(M method, Class<?> targetClass);

	/**
	 * Create the exception for a method that is rejected.
	 * @param beanName the name of the bean
	 * @param method the method
	 * @param reason why it is rejected, in words that continue its name
	 * @param remedy what to do about it
	 * @param cause the cause, if any
	 * @return the exception
	 */
	abstract InvalidFencedMethodException invalid(String beanName, Method method, String reason, String remedy,
			@Nullable Throwable cause);

	final InvalidFencedMethodException invalid(M method, String reason, String remedy) {
		return invalid(method.beanName(), method.method(), reason, remedy, null);
	}

	void setValueResolver(StringValueResolver valueResolver) {
		this.valueResolver = valueResolver;
	}

	/**
	 * Return whether a class can have annotated methods.
	 * @param type the class
	 * @return {@code false} if it certainly has none
	 */
	boolean isCandidate(Class<?> type) {
		return AnnotationUtils.isCandidateClass(type, this.annotationType);
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
	@Nullable M describe(Method method, Class<?> targetClass) {
		return this.cache.computeIfAbsent(new MethodClassKey(method, targetClass), (key) -> {
			Method specificMethod = specificMethod(method, targetClass);
			A annotation = select(ClassUtils.getUserClass(targetClass)).get(specificMethod);
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
	 * @throws InvalidFencedMethodException if one of them cannot be fenced
	 */
	List<M> find(String beanName, Class<?> beanClass) {
		Class<?> targetClass = ClassUtils.getUserClass(beanClass);
		Map<Method, A> annotated = select(targetClass);
		return annotated.entrySet().stream().map((entry) -> {
			M method = describe(beanName, entry.getKey(), entry.getValue());
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
	Map<Method, A> select(Class<?> targetClass) {
		if (!isCandidate(targetClass)) {
			return Map.of();
		}
		return this.selected.computeIfAbsent(targetClass, this::selectMethods);
	}

	private Map<Method, A> selectMethods(Class<?> targetClass) {
		Map<Method, A> annotated = new LinkedHashMap<>();
		Set<Class<?>> types = new LinkedHashSet<>();
		if (!Proxy.isProxyClass(targetClass)) {
			types.add(targetClass);
		}
		types.addAll(ClassUtils.getAllInterfacesForClassAsSet(targetClass));
		for (Class<?> type : types) {
			ReflectionUtils.doWithMethods(type, (method) -> {
				Method specificMethod = specificMethod(method, targetClass);
				if (!annotated.containsKey(specificMethod)) {
					A annotation = findAnnotation(method, specificMethod);
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

	private @Nullable A findAnnotation(Method method, Method specificMethod) {
		A annotation = AnnotatedElementUtils.findMergedAnnotation(specificMethod, this.annotationType);
		return (annotation != null || specificMethod.equals(method)) ? annotation
				: AnnotatedElementUtils.findMergedAnnotation(method, this.annotationType);
	}

	final String resolve(String text) {
		String resolved = (this.valueResolver != null) ? this.valueResolver.resolveStringValue(text) : text;
		return (resolved != null) ? resolved : "";
	}

	final void requireOverridable(M method, Class<?> targetClass) {
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

	final void requireSynchronous(M method, Class<?> targetClass, String remedyForAsync, String scope) {
		Method candidate = method.method();
		if (AnnotatedElementUtils.hasAnnotation(candidate, Async.class)
				|| AnnotatedElementUtils.hasAnnotation(targetClass, Async.class)) {
			throw invalid(method, "is @Async, so that its caller would not know whether it ran", remedyForAsync);
		}
		Class<?>[] parameterTypes = candidate.getParameterTypes();
		if (parameterTypes.length > 0
				&& parameterTypes[parameterTypes.length - 1].getName().equals("kotlin.coroutines.Continuation")) {
			throw invalid(method, "is a suspending function, which goes on after the call has returned",
					"Use a blocking function");
		}
		if (isDeferred(candidate.getReturnType())) {
			throw invalid(method,
					"returns '%s', whose work would go on outside of the %s"
						.formatted(ClassUtils.getQualifiedName(candidate.getReturnType()), scope),
					"Do the work before the method returns, and return its result");
		}
	}

	static @Nullable String present(MergedAnnotations annotations, List<String> names) {
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

}
