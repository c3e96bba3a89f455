package io.github.fencedleadership.jdbc;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseStore;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The suite that ShedLock has for its lock providers, on every store.
 */
class ShedLockSuiteTests {

	@Nested
	@Execution(ExecutionMode.CONCURRENT)
	class InMemory extends Suite {

		InMemory() {
			super(new InMemoryLeaseStore(InstantSource.system()), () -> {
			});
		}

	}

	@Nested
	@Execution(ExecutionMode.CONCURRENT)
	class H2 extends Suite {

		H2() {
			super(TestDatabase.H2.createSchema().withTables());
		}

	}

	@Nested
	@Execution(ExecutionMode.CONCURRENT)
	class PostgreSql extends Suite {

		PostgreSql() {
			super(TestDatabase.POSTGRESQL.createSchema().withTables());
		}

	}

	@Nested
	@Execution(ExecutionMode.CONCURRENT)
	class MariaDb extends Suite {

		MariaDb() {
			super(TestDatabase.MARIADB.createSchema().withTables());
		}

	}

	@Execution(ExecutionMode.CONCURRENT)
	abstract static class Suite extends AbstractExtensibleLockProviderIntegrationTest {

		private final LeaseStore leases;

		private final Runnable close;

		Suite(LeaseStore leases, Runnable close) {
			this.leases = leases;
			this.close = close;
		}

		Suite(TestSchema schema) {
			this(new JdbcLeaseStore(schema.open(), "shedlock"), schema::close);
		}

		@AfterEach
		void close() {
			this.close.run();
		}

		@Override
		protected ExtensibleLockProvider getLockProvider() {
			return (configuration) -> {
				String owner = UUID.randomUUID().toString();
				LeaseResult result = this.leases.tryAcquireOrRenew(configuration.getName(), owner,
						configuration.getLockAtMostFor());
				return result.acquired()
						? Optional.of(new LeaseLock(this.leases, configuration, owner, result.fencingToken()))
						: Optional.empty();
			};
		}

		@Override
		protected void assertUnlocked(String name) {
			assertThat(this.leases.find(name)).hasValueSatisfying((lease) -> assertThat(lease.isLive()).isFalse());
		}

		@Override
		protected void assertLocked(String name) {
			assertThat(this.leases.find(name).filter(Lease::isLive)).isPresent();
		}

	}

	/**
	 * A lock that is a term: its owner is drawn for it alone.
	 */
	private static final class LeaseLock extends AbstractSimpleLock {

		private final LeaseStore leases;

		private final String owner;

		private final long token;

		LeaseLock(LeaseStore leases, LockConfiguration configuration, String owner, long token) {
			super(configuration);
			this.leases = leases;
			this.owner = owner;
			this.token = token;
		}

		@Override
		protected void doUnlock() {
			Duration rest = Duration.between(ClockProvider.now(), this.lockConfiguration.getLockAtLeastUntil());
			if (rest.toMillis() > 0) {
				renew(rest);
			}
			else {
				this.leases.release(this.lockConfiguration.getName(), this.owner, this.token);
			}
		}

		@Override
		protected Optional<SimpleLock> doExtend(LockConfiguration configuration) {
			Instant now = ClockProvider.now();
			return renew(Duration.between(now, configuration.getLockAtMostUntil()))
					? Optional.of(new LeaseLock(this.leases, configuration, this.owner, this.token)) : Optional.empty();
		}

		private boolean renew(Duration ttl) {
			return this.leases
				.tryAcquireOrRenew(this.owner,
						List.of(LeaseRequest.renew(this.lockConfiguration.getName(), ttl, this.token)))
				.get(0)
				.acquired();
		}

	}

}
