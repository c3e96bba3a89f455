package io.github.fencedleadership.annotation;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.election.RoleSettings;

/**
 * Makes the settings of a role from what its annotations state and what is configured.
 */
@FunctionalInterface
public interface RoleSettingsResolver {

	/**
	 * Return the settings of a role.
	 * @param role the role
	 * @param declared what the annotations of the role's methods state
	 * @return the settings, {@code null} for those of the elector
	 * @throws IllegalArgumentException if what is declared cannot be used
	 */
	@Nullable RoleSettings resolve(String role, Declared declared);

	/**
	 * What the annotations of a role's methods state; what none of them states is
	 * {@code null}.
	 *
	 * @param leaseTtl the lease TTL
	 * @param renewInterval the renew interval
	 * @param stallTimeout the stall timeout, zero for never
	 */
	record Declared(@Nullable Duration leaseTtl, @Nullable Duration renewInterval, @Nullable Duration stallTimeout) {

		/**
		 * Return whether any of them states anything.
		 * @return {@code true} if nothing is stated
		 */
		public boolean isEmpty() {
			return this.leaseTtl == null && this.renewInterval == null && this.stallTimeout == null;
		}

	}

}
