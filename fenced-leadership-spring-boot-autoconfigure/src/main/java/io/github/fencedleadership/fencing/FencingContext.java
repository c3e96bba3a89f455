package io.github.fencedleadership.fencing;

import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;

import org.jspecify.annotations.Nullable;

/**
 * The terms that a thread acts in, innermost first. Immutable; whoever hands work to
 * another thread can hand the context on with it.
 * <p>
 * A term whose work has ended is in no context any more, wherever the context was handed
 * to: code that outlives the work cannot act in its name.
 */
public final class FencingContext {

	private static final ThreadLocal<FencingContext> CURRENT = new ThreadLocal<>();

	private final Bearer bearer;

	private final @Nullable FencingContext outer;

	private FencingContext(Bearer bearer, @Nullable FencingContext outer) {
		this.bearer = bearer;
		this.outer = outer;
	}

	/**
	 * Return the context of the calling thread, to be handed to another one.
	 * @return the context, {@code null} if there is none
	 */
	public static @Nullable FencingContext capture() {
		return CURRENT.get();
	}

	/**
	 * Give the calling thread a context.
	 * @param context the context, {@code null} for none
	 */
	public static void restore(@Nullable FencingContext context) {
		if (context != null) {
			CURRENT.set(context);
		}
		else {
			CURRENT.remove();
		}
	}

	/**
	 * Let the calling thread act in a term, within the context it has already.
	 * @param bearer the term
	 * @return ends it, on the same thread, and nothing else
	 */
	public static Scope enter(Bearer bearer) {
		CURRENT.set(new FencingContext(Objects.requireNonNull(bearer, "'bearer' must not be null"), CURRENT.get()));
		return () -> restore(without(CURRENT.get(), bearer));
	}

	/**
	 * Take out one term, which need not be the innermost if scopes are closed out of
	 * order.
	 */
	private static @Nullable FencingContext without(@Nullable FencingContext context, Bearer removed) {
		if (context == null) {
			return null;
		}
		if (context.bearer.equals(removed)) {
			return context.outer;
		}
		return new FencingContext(context.bearer, without(context.outer, removed));
	}

	/**
	 * Return the innermost active term of the calling thread that meets a condition.
	 * @param condition the condition
	 * @return the term
	 */
	public static Optional<Bearer> find(Predicate<Bearer> condition) {
		for (FencingContext context = CURRENT.get(); context != null; context = context.outer) {
			if (context.bearer.isActive() && condition.test(context.bearer)) {
				return Optional.of(context.bearer);
			}
		}
		return Optional.empty();
	}

	/**
	 * A term that code can act in.
	 */
	public interface Bearer {

		/**
		 * Return the token of the term.
		 * @return the token
		 */
		FencingToken fencingToken();

		/**
		 * Return whether code may still act in the term's name, be it over or not.
		 * @return {@code false} once the work has ended that the context was made for
		 */
		boolean isActive();

	}

	/**
	 * The time in which a thread acts in a term.
	 */
	@FunctionalInterface
	public interface Scope extends AutoCloseable {

		@Override
		void close();

	}

}
