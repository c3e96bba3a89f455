package io.github.fencedleadership.sample.launcher;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.Advised;
import org.springframework.beans.factory.config.BeanPostProcessor;

import io.github.fencedleadership.fencing.FencingToken;

/**
 * Gets the job of a node stuck, on demand, in front of the ledger: as on a lock or a
 * socket, deaf to interrupts, in a process that is otherwise well.
 * <p>
 * Thread-safe.
 */
final class Wedge implements BeanPostProcessor, MethodInterceptor {

	/**
	 * The line that has the job get stuck.
	 */
	static final String CLOSE = "wedge";

	/**
	 * The line that has it get on.
	 */
	static final String OPEN = "free";

	private static final String BEAN = "ledger";

	private static final String ROLE = "ledger";

	private boolean closed;

	/**
	 * Do what a line asks for.
	 * @param line the line
	 */
	synchronized void accept(String line) {
		this.closed = line.equals(CLOSE) || (this.closed && !line.equals(OPEN));
		notifyAll();
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (beanName.equals(BEAN) && bean instanceof Advised proxy) {
			// Outside of the transaction, which would otherwise wait too
			proxy.addAdvice(0, this);
		}
		return bean;
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		if (FencingToken.current(ROLE).isPresent()) {
			awaitOpen();
		}
		return invocation.proceed();
	}

	private synchronized void awaitOpen() {
		boolean interrupted = false;
		while (this.closed) {
			try {
				wait();
			}
			catch (InterruptedException ex) {
				interrupted = true;
			}
		}
		if (interrupted) {
			Thread.currentThread().interrupt();
		}
	}

}
