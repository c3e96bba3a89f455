package io.github.fencedleadership.jdbc;

import java.time.Duration;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

import io.github.fencedleadership.membership.NodeRegistry;
import io.github.fencedleadership.membership.NodeRegistryContract;

/**
 * Runs the contract against a {@link JdbcNodeRegistry}.
 */
@TestInstance(Lifecycle.PER_CLASS)
abstract class JdbcNodeRegistryContract extends NodeRegistryContract {

	private final TestDatabase testDatabase;

	private TestSchema schema;

	private NodeRegistry registry;

	JdbcNodeRegistryContract(TestDatabase testDatabase) {
		this.testDatabase = testDatabase;
	}

	@BeforeAll
	void open() {
		this.schema = prepare(this.testDatabase.createSchema().withTables());
		this.registry = new JdbcNodeRegistry(this.schema.openWithTestClock(), "test", LIVENESS_TTL, Duration.ofDays(1));
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
	protected NodeRegistry registry() {
		return this.registry;
	}

	@Override
	protected void advance(Duration duration) {
		this.schema.advance(duration);
	}

}
