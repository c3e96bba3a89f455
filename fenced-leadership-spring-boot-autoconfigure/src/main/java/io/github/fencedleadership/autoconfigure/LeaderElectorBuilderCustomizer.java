package io.github.fencedleadership.autoconfigure;

import io.github.fencedleadership.election.DefaultLeaderElector;

/**
 * Callback for beans that change the auto-configured {@link DefaultLeaderElector} before
 * it is built. Called in order, after the properties have been applied.
 */
@FunctionalInterface
public interface LeaderElectorBuilderCustomizer {

	/**
	 * Customize the elector.
	 * @param builder the builder to change
	 */
	void customize(DefaultLeaderElector.Builder builder);

}
