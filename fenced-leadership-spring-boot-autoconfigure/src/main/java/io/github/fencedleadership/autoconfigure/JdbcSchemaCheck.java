package io.github.fencedleadership.autoconfigure;

import java.util.ArrayList;
import java.util.List;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.dao.DataAccessException;

import io.github.fencedleadership.jdbc.JdbcDatabase;
import io.github.fencedleadership.jdbc.JdbcLeaseStore;
import io.github.fencedleadership.jdbc.JdbcNodeRegistry;

/**
 * Looks at the database once, when all beans are there and nothing contends yet. What is
 * wrong with a database that answers stops the application; one that does not answer
 * stops nothing.
 */
class JdbcSchemaCheck implements SmartInitializingSingleton {

	private static final Log logger = LogFactory.getLog(JdbcSchemaCheck.class);

	private final JdbcDatabase database;

	private final ObjectProvider<JdbcLeaseStore> leaseStore;

	private final ObjectProvider<JdbcNodeRegistry> nodeRegistry;

	JdbcSchemaCheck(JdbcDatabase database, ObjectProvider<JdbcLeaseStore> leaseStore,
			ObjectProvider<JdbcNodeRegistry> nodeRegistry) {
		this.database = database;
		this.leaseStore = leaseStore;
		this.nodeRegistry = nodeRegistry;
	}

	@Override
	public void afterSingletonsInstantiated() {
		List<String> tables = new ArrayList<>();
		this.leaseStore.ifAvailable((store) -> tables.add(this.database.getLeaseTable()));
		this.nodeRegistry.ifAvailable((registry) -> tables.add(this.database.getNodeTable()));
		try {
			List<String> missing = tables.stream().filter((table) -> !this.database.hasTable(table)).toList();
			if (!missing.isEmpty()) {
				throw new MissingTableException(missing, this.database.getPlatform());
			}
			warnOfDatabaseOfThisProcess();
		}
		catch (DataAccessException ex) {
			logger.warn("The database of the leases does not answer: nobody can lead here until it does. "
					+ ex.getMessage());
		}
	}

	private void warnOfDatabaseOfThisProcess() {
		String url = this.database.getUrl();
		if (url != null && url.startsWith("jdbc:h2:mem:")) {
			logger.warn(
					"Leases are kept in '%s', which is in the memory of this process: leaders are elected within this process only"
						.formatted(url));
		}
	}

}
