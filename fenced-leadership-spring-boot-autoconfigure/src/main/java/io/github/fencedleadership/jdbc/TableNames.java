package io.github.fencedleadership.jdbc;

import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

/**
 * The names of the tables, qualified if a schema was given.
 *
 * @param lease the table of leases
 * @param node the table of nodes
 */
record TableNames(String lease, String node) {

	/**
	 * What is left of the shortest limit on identifiers (63 on PostgreSQL) once the
	 * longest name of a table and the suffix of its index are taken off.
	 */
	static final int MAX_PREFIX_LENGTH = 40;

	static final int MAX_SCHEMA_LENGTH = 63;

	private static final Pattern IDENTIFIER = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

	static TableNames of(@Nullable String schema, String prefix) {
		String qualifier = (schema != null) ? schema + "." : "";
		return new TableNames(qualifier + prefix + "lease", qualifier + prefix + "node");
	}

	static String requireSchema(String schema) {
		return requireIdentifier(schema, MAX_SCHEMA_LENGTH, "Schema name");
	}

	static String requirePrefix(String prefix) {
		return requireIdentifier(prefix, MAX_PREFIX_LENGTH, "Table prefix");
	}

	private static String requireIdentifier(String value, int maxLength, String what) {
		if (value.length() > maxLength || !IDENTIFIER.matcher(value).matches()) {
			throw new IllegalArgumentException(
					"%s '%s' must start with an ASCII letter or '_', go on with letters, digits and '_', and have at most %d characters"
						.formatted(what, value, maxLength));
		}
		return value;
	}

}
