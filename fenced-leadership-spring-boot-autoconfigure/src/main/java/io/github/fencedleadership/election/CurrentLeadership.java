package io.github.fencedleadership.election;

import org.jspecify.annotations.Nullable;

/**
 * The leaderships that a thread works under, innermost first.
 */
final class CurrentLeadership {

	private static final ThreadLocal<Binding> BINDING = new ThreadLocal<>();

	private CurrentLeadership() {
	}

	static @Nullable Leadership get() {
		Binding binding = BINDING.get();
		return (binding != null) ? binding.leadership() : null;
	}

	static @Nullable Leadership get(String role) {
		for (Binding binding = BINDING.get(); binding != null; binding = binding.outer()) {
			if (binding.leadership().role().equals(role)) {
				return binding.leadership();
			}
		}
		return null;
	}

	/**
	 * Bind a leadership to the calling thread.
	 * @param leadership the leadership
	 * @return ends, on the same thread, this binding and no other
	 */
	static Runnable bind(Leadership leadership) {
		BINDING.set(new Binding(leadership, BINDING.get()));
		return () -> {
			Binding rest = without(BINDING.get(), leadership);
			if (rest != null) {
				BINDING.set(rest);
			}
			else {
				BINDING.remove();
			}
		};
	}

	/**
	 * Take out one binding, which need not be the innermost if scopes are closed out of
	 * order.
	 */
	private static @Nullable Binding without(@Nullable Binding binding, Leadership removed) {
		if (binding == null) {
			return null;
		}
		if (binding.leadership() == removed) {
			return binding.outer();
		}
		return new Binding(binding.leadership(), without(binding.outer(), removed));
	}

	private record Binding(Leadership leadership, @Nullable Binding outer) {

	}

}
