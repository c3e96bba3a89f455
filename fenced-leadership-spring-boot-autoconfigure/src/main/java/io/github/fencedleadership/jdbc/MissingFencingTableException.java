package io.github.fencedleadership.jdbc;

/**
 * Thrown when writes are to be fenced in a database that has no table for it.
 */
@SuppressWarnings("serial")
public class MissingFencingTableException extends IllegalStateException {

	private final String table;

	private final String platform;

	/**
	 * Create an exception.
	 * @param table the name of the table
	 * @param platform the name of the platform, as in the names of the schema scripts
	 */
	public MissingFencingTableException(String table, String platform) {
		super("Table '%s', which fenced writes need, does not exist in the database that is written to. Set 'fenced-leadership.jdbc.initialize-schema' to 'always' if the application may create tables, run the script 'schema-fencing-%s.sql' of package 'io.github.fencedleadership.jdbc', or make it a migration of your own"
			.formatted(table, platform));
		this.table = table;
		this.platform = platform;
	}

	/**
	 * Return the name of the table.
	 * @return the name, qualified if a schema was configured
	 */
	public String getTable() {
		return this.table;
	}

	/**
	 * Return the name of the platform.
	 * @return the name, as in the names of the schema scripts
	 */
	public String getPlatform() {
		return this.platform;
	}

}
