package io.github.fencedleadership.annotation;

import java.lang.reflect.Method;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.election.Leadership;

/**
 * The container's own call of a method that is run once per term, bound to the thread of
 * the work. It is how the interceptor tells that call from anybody else's.
 */
final class TermCall {

	private static final ThreadLocal<TermCall> CURRENT = new ThreadLocal<>();

	private final Object target;

	private final Method method;

	private final Leadership leadership;

	private boolean entered;

	private int attempts;

	TermCall(Object target, Method method, Leadership leadership) {
		this.target = target;
		this.method = method;
		this.leadership = leadership;
	}

	static @Nullable TermCall current() {
		return CURRENT.get();
	}

	void bind() {
		CURRENT.set(this);
	}

	static void unbind() {
		CURRENT.remove();
	}

	/**
	 * Enter the method. Advice further out may do so again after a failure, as long as
	 * the term goes on; the method itself may not, through whatever reference.
	 * @param target the target of the call
	 * @param method the method that is called
	 * @return whether the call is the container's
	 */
	boolean enter(Object target, Method method) {
		if (this.entered || this.target != target || !this.method.equals(method)) {
			return false;
		}
		if (this.attempts++ > 0) {
			this.leadership.requireHeld();
		}
		this.entered = true;
		return true;
	}

	void leave() {
		this.entered = false;
	}

}
