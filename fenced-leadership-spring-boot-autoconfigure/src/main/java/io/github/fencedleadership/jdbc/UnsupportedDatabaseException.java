package io.github.fencedleadership.jdbc;

/**
 * Thrown if the database is none that leases can be kept in.
 */
@SuppressWarnings("serial")
public class UnsupportedDatabaseException extends RuntimeException {

	private final String product;

	private final String version;

	UnsupportedDatabaseException(String product, String version) {
		super("Database '%s' in version '%s' is not supported: leases can be kept in PostgreSQL 13, MariaDB 10.6, MySQL 8.0, H2 2.2.220, and later versions of these"
			.formatted(product, version));
		this.product = product;
		this.version = version;
	}

	/**
	 * Return the name that the database gives itself.
	 * @return the name
	 */
	public String getProduct() {
		return this.product;
	}

	/**
	 * Return the version that the database reports.
	 * @return the version
	 */
	public String getVersion() {
		return this.version;
	}

}
