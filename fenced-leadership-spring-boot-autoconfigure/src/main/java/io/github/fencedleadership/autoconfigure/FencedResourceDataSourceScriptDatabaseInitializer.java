package io.github.fencedleadership.autoconfigure;

import javax.sql.DataSource;

/**
 * Initializer for the table of the guard, in the database that is written to, which need
 * not be that of the leases.
 */
class FencedResourceDataSourceScriptDatabaseInitializer extends FencedLeadershipDataSourceScriptDatabaseInitializer {

	FencedResourceDataSourceScriptDatabaseInitializer(DataSource dataSource, FencedLeadershipJdbcProperties properties,
			String schemaLocation) {
		super(dataSource, properties, schemaLocation);
	}

}
