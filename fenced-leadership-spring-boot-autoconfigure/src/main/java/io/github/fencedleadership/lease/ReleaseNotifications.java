package io.github.fencedleadership.lease;

import java.util.Set;
import java.util.function.Consumer;

/**
 * Tells a node that leases were released before their time, so that it can take them at
 * once and not at its next poll.
 * <p>
 * It is an accelerator and nothing depends on it: a notification may be late, lost or
 * doubled, and by the time it arrives the role may have been taken. Whoever is told asks
 * the {@link LeaseStore}, and goes on to poll for what nobody tells.
 * <p>
 * Implementations are thread-safe, heal by themselves, and hold up neither a start nor a
 * stop.
 */
public interface ReleaseNotifications {

	/**
	 * Subscribe to releases by any node. Returns at once, whether they can be heard of or
	 * not.
	 * @param listener is called with the roles that were released, one call at a time, on
	 * a thread of the implementation's own; it does not block
	 * @return ends the subscription
	 */
	Subscription subscribe(Consumer<Set<String>> listener);

	/**
	 * A subscription.
	 */
	interface Subscription extends AutoCloseable {

		/**
		 * End the subscription. Returns at once; a call that has begun may still be under
		 * way. Idempotent.
		 */
		@Override
		void close();

	}

}
