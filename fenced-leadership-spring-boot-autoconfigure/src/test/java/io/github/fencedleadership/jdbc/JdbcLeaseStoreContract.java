package io.github.fencedleadership.jdbc;

import java.time.Duration;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.lease.LeaseStoreContract;

/**
 * Runs the contract against a {@link JdbcLeaseStore}.
 */
@TestInstance(Lifecycle.PER_CLASS)
abstract class JdbcLeaseStoreContract extends LeaseStoreContract {

	private final TestDatabase testDatabase;

	private TestSchema schema;

	private LeaseStore store;

	JdbcLeaseStoreContract(TestDatabase testDatabase) {
		this.testDatabase = testDatabase;
	}

	@BeforeAll
	void open() {
		this.schema = prepare(this.testDatabase.createSchema().withTables());
		this.store = new JdbcLeaseStore(this.schema.openWithTestClock(), "test");
	}

	TestSchema prepare(TestSchema schema) {
		return schema;
	}

	@AfterAll
	void close() {
		if (this.schema != null) {
			this.schema.close();
		}
	}

	@BeforeEach
	void reset() {
		this.schema.reset();
	}

	@Override
	protected LeaseStore store() {
		return this.store;
	}

	@Override
	protected void advance(Duration duration) {
		this.schema.advance(duration);
	}

}
