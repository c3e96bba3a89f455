package io.github.fencedleadership.annotation;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.Schedules;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

import io.github.fencedleadership.annotation.FencedLeader.Mode;
import io.github.fencedleadership.annotation.FencedLeader.Otherwise;
import io.github.fencedleadership.annotation.RoleSettingsResolver.Declared;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.lease.Roles;

/**
 * Finds the {@link FencedLeader @FencedLeader} methods of a class, and rejects those that
 * can be seen, from the class alone, not to be fenceable.
 */
class FencedLeaderIntrospector extends FencedMethodIntrospector<FencedLeader, FencedLeaderMethod> {

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
			"jakarta.ejb.TransactionAttribute", FencedWrite.class.getName());

	FencedLeaderIntrospector() {
		super(FencedLeader.class);
	}

	@Override
	InvalidFencedLeaderException invalid(String beanName, Method method, String reason, String remedy,
			@Nullable Throwable cause) {
		return new InvalidFencedLeaderException(beanName, method, reason, remedy, cause);
	}

	@Override
	FencedLeaderMethod describe(String beanName, Method method, FencedLeader annotation) {
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

	@Override
	void validate(FencedLeaderMethod method, Class<?> targetClass) {
		requireOverridable(method, targetClass);
		requireSynchronous(method, targetClass,
				(method.mode() == Mode.RUN) ? "Remove @Async: the method is run on a thread of its own"
						: "Move the gate to a method that is called by the asynchronous one",
				"term");
		if (method.mode() == Mode.RUN) {
			requireRunnable(method, targetClass);
		}
		else {
			requireGateable(method);
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
