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
	 * @return restores, on the same thread, what was bound before
	 */
	static Runnable bind(Leadership leadership) {
		Binding outer = BINDING.get();
		BINDING.set(new Binding(leadership, outer));
		return () -> {
			if (outer != null) {
				BINDING.set(outer);
			}
			else {
				BINDING.remove();
			}
		};
	}

	private record Binding(Leadership leadership, @Nullable Binding outer) {

	}

}
