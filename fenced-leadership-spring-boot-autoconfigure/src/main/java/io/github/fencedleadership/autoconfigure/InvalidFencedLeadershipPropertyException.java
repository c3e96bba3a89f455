package io.github.fencedleadership.autoconfigure;

/**
 * Thrown at start-up for a property that cannot be used as configured.
 */
@SuppressWarnings("serial")
class InvalidFencedLeadershipPropertyException extends RuntimeException {

	private final String problem;

	private final String remedy;

	InvalidFencedLeadershipPropertyException(String property, Object value, String reason, String remedy) {
		super("Property '%s' with value '%s' %s. %s".formatted(property, value, reason, remedy));
		this.problem = "Property '%s' with value '%s' %s.".formatted(property, value, reason);
		this.remedy = remedy;
	}

	String getProblem() {
		return this.problem;
	}

	String getRemedy() {
		return this.remedy;
	}

}
