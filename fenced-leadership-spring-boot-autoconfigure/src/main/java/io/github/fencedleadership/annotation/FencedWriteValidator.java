package io.github.fencedleadership.annotation;

import java.util.List;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.annotation.TransactionManagementConfigurer;

import io.github.fencedleadership.fencing.FencingGuard;

/**
 * Once all singletons are there, looks at every bean for {@link FencedWrite} methods, and
 * rejects those that would not be fenced. Beans that are created later are looked at
 * then.
 */
class FencedWriteValidator implements SmartInitializingSingleton {

	private final ConfigurableListableBeanFactory beanFactory;

	private final FencedWriteBeanPostProcessor postProcessor;

	private final FencedMethodScanner<FencedWriteMethod> scanner;

	private volatile boolean verified;

	FencedWriteValidator(ConfigurableListableBeanFactory beanFactory, FencedWriteBeanPostProcessor postProcessor) {
		this.beanFactory = beanFactory;
		this.postProcessor = postProcessor;
		this.scanner = new FencedMethodScanner<>(beanFactory, postProcessor);
	}

	@Override
	public void afterSingletonsInstantiated() {
		this.beanFactory.getBeanProvider(TransactionManagementConfigurer.class)
			.ifAvailable((configurer) -> this.postProcessor
				.setTransactionManager(configurer.annotationDrivenTransactionManager()));
		this.scanner.scan()
			.forEach((bean) -> bean.methods().forEach((method) -> requireCollaborators(method, bean.targetClass())));
		// Those too that are no beans of their own
		this.postProcessor.listen(this::validateLate)
			.values()
			.forEach((methods) -> methods
				.forEach((method) -> requireCollaborators(method, method.method().getDeclaringClass())));
	}

	private void validateLate(String beanName, Object bean, List<FencedWriteMethod> methods) {
		methods.forEach((method) -> {
			this.scanner.requireAdvised(method, bean);
			requireCollaborators(method, Targets.ultimateTarget(bean).getClass());
		});
	}

	private void requireCollaborators(FencedWriteMethod method, Class<?> targetClass) {
		requireGuard(method);
		requireTransactionManager(method, targetClass);
	}

	private void requireGuard(FencedWriteMethod method) {
		FencingGuard guard;
		try {
			guard = this.postProcessor.resolveGuard();
		}
		catch (NoSuchBeanDefinitionException ex) {
			throw invalid(method, "needs one FencingGuard, and there is none, or several",
					"Use 'fenced-leadership.store' with the value 'jdbc' or 'memory', or declare a FencingGuard bean; of several, make one @Primary",
					ex);
		}
		if (!this.verified) {
			this.verified = true;
			guard.verify();
		}
	}

	private void requireTransactionManager(FencedWriteMethod method, Class<?> targetClass) {
		TransactionManager transactionManager = determineTransactionManager(method, targetClass);
		if (!(transactionManager instanceof PlatformTransactionManager)) {
			throw invalid(method,
					"needs a PlatformTransactionManager, and has '%s'"
						.formatted((transactionManager != null) ? transactionManager.getClass().getName() : "none"),
					"Name another one with 'transactionManager'", null);
		}
	}

	private @Nullable TransactionManager determineTransactionManager(FencedWriteMethod method, Class<?> targetClass) {
		try {
			return this.postProcessor.transactionManager(method, targetClass);
		}
		catch (NoSuchBeanDefinitionException | IllegalStateException ex) {
			throw invalid(method,
					(method.transactionManager() != null)
							? "names the transaction manager '%s', and there is no such bean"
								.formatted(method.transactionManager())
							: "needs a transaction manager, and there is none, or several",
					"Declare a PlatformTransactionManager for the DataSource of the FencingGuard, and of several, name the one to use with 'transactionManager'",
					ex);
		}
	}

	private InvalidFencedMethodException invalid(FencedWriteMethod method, String reason, String remedy,
			@Nullable Throwable cause) {
		return this.postProcessor.getIntrospector().invalid(method.beanName(), method.method(), reason, remedy, cause);
	}

}
