package io.github.fencedleadership.propagation;

import io.micrometer.context.ThreadLocalAccessor;
import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.fencing.FencingContext;

/**
 * Lets the terms that a thread acts in follow Micrometer's context propagation. Found by
 * {@link java.util.ServiceLoader}; there is nothing to configure.
 * <p>
 * What is taken along is the {@link FencingContext}, not a copy of what it says at that
 * moment: once the work of a term has ended, no thread acts in that term any more, even
 * if it was handed the context before. Such a thread is not interrupted when the term
 * ends, nor awaited before the role is handed over; the fencing token is what stops it.
 * <p>
 * Thread-safe.
 */
public final class FencingContextThreadLocalAccessor implements ThreadLocalAccessor<FencingContext> {

	/**
	 * The key of the context.
	 */
	public static final String KEY = "fenced-leadership.fencing-context";

	@Override
	public Object key() {
		return KEY;
	}

	@Override
	public @Nullable FencingContext getValue() {
		return FencingContext.capture();
	}

	@Override
	public void setValue(FencingContext value) {
		FencingContext.restore(value);
	}

	@Override
	public void setValue() {
		FencingContext.restore(null);
	}

}
