package io.github.fencedleadership.lease;

import java.util.regex.Pattern;

/**
 * The rule for names: of roles, and of the namespace that scopes them.
 */
public final class Roles {

	/**
	 * The longest name that is accepted.
	 */
	public static final int MAX_LENGTH = 100;

	private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._:-]{1," + MAX_LENGTH + "}");

	private Roles() {
	}

	/**
	 * Return whether a name may be used.
	 * @param name the name
	 * @return {@code true} if it has 1 to {@value #MAX_LENGTH} characters, each a letter
	 * or digit of ASCII or one of {@code . _ : -}
	 */
	public static boolean isValid(String name) {
		return NAME.matcher(name).matches();
	}

	/**
	 * Check the name of a role.
	 * @param role the name
	 * @return the name
	 * @throws IllegalArgumentException if it must not be used
	 */
	public static String validate(String role) {
		if (!isValid(role)) {
			throw new IllegalArgumentException(
					"Role name '%s' must have 1 to %d characters, each an ASCII letter or digit or one of '._:-'"
						.formatted(abbreviate(role), MAX_LENGTH));
		}
		return role;
	}

	private static String abbreviate(String name) {
		return (name.length() <= MAX_LENGTH) ? name : name.substring(0, MAX_LENGTH) + "...";
	}

}
