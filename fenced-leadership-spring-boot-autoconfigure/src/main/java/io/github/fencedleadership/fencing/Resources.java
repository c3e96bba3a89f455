package io.github.fencedleadership.fencing;

/**
 * The rule for the names of resources.
 */
public final class Resources {

	private Resources() {
	}

	/**
	 * Check the name of a resource.
	 * @param resource the name
	 * @return the name
	 * @throws IllegalArgumentException if it must not be used
	 */
	public static String validate(String resource) {
		if (resource.isEmpty() || resource.length() > FencingGuard.MAX_RESOURCE_LENGTH
				|| resource.chars().anyMatch(Character::isISOControl)) {
			String shown = resource.substring(0, Math.min(resource.length(), FencingGuard.MAX_RESOURCE_LENGTH));
			throw new IllegalArgumentException(
					"Resource name '%s' must have 1 to %d characters and no control characters"
						.formatted(shown.replaceAll("\\p{Cntrl}", "?"), FencingGuard.MAX_RESOURCE_LENGTH));
		}
		return resource;
	}

}
