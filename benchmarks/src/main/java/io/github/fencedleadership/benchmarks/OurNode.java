package io.github.fencedleadership.benchmarks;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.election.DefaultLeaderElector;
import io.github.fencedleadership.election.LeaderElector.Registration;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.election.LeadershipListener;
import io.github.fencedleadership.election.RevocationReason;
import io.github.fencedleadership.election.RoleSettings;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.jdbc.JdbcDatabase;
import io.github.fencedleadership.jdbc.JdbcLeaseStore;
import io.github.fencedleadership.jdbc.JdbcNodeRegistry;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseStore;

/**
 * A node as the starter makes it: an elector on a store, with its heartbeat.
 */
final class OurNode implements AutoCloseable {

	private final JdbcDatabase database;

	private final DyingStore store;

	private final DefaultLeaderElector elector;

	private final AtomicLong held = new AtomicLong();

	private final AtomicLong lost = new AtomicLong();

	OurNode(DataSource pool, String namespace, RoleSettings settings) {
		this.database = JdbcDatabase.builder(pool)
			.connectionTimeout(Duration.ofSeconds(10))
			.queryTimeout(Duration.ofSeconds(10))
			.build();
		this.store = new DyingStore(new JdbcLeaseStore(this.database, namespace));
		DefaultLeaderElector.Builder builder = DefaultLeaderElector.builder(this.store)
			.nodeRegistry(new JdbcNodeRegistry(this.database, namespace, settings.leaseTtl(), Duration.ofDays(1)))
			.settings(settings)
			.listener(new LeadershipListener() {

				@Override
				public void granted(FencingToken token) {
					OurNode.this.held.incrementAndGet();
				}

				@Override
				public void revoked(FencingToken token, RevocationReason reason) {
					OurNode.this.held.decrementAndGet();
					if (reason != RevocationReason.STOPPED && reason != RevocationReason.STEPPED_DOWN) {
						OurNode.this.lost.incrementAndGet();
					}
				}

			});
		this.elector = builder.build();
	}

	static List<String> roles(int count) {
		return java.util.stream.IntStream.range(0, count).mapToObj((i) -> "role-" + i).toList();
	}

	OurNode holding(int roles) {
		roles(roles).forEach((role) -> this.elector.register(LeaderTask.holding(role)));
		return this;
	}

	OurNode working(String role, Consumer<Leadership> start) {
		work(role, start);
		return this;
	}

	Registration work(String role, Consumer<Leadership> start) {
		return this.elector.register(LeaderTask.of(role, (leadership) -> {
			start.accept(leadership);
			while (leadership.isHeld()) {
				leadership.await(Duration.ofHours(1));
			}
		}));
	}

	OurNode start() {
		this.elector.start();
		this.elector.contend();
		return this;
	}

	DefaultLeaderElector elector() {
		return this.elector;
	}

	DyingStore store() {
		return this.store;
	}

	long held() {
		return this.held.get();
	}

	long lost() {
		return this.lost.get();
	}

	/**
	 * Give all back, in order.
	 */
	@Override
	public void close() {
		this.elector.close();
		this.database.close();
	}

	/**
	 * A store whose node can be cut off from it, as by its death.
	 */
	static final class DyingStore implements LeaseStore {

		private final LeaseStore delegate;

		private final AtomicBoolean dead = new AtomicBoolean();

		private final AtomicReference<@Nullable Consumer<String>> beforeRelease = new AtomicReference<>();

		DyingStore(LeaseStore delegate) {
			this.delegate = delegate;
		}

		void die() {
			this.dead.set(true);
		}

		void live() {
			this.dead.set(false);
		}

		void beforeRelease(Consumer<String> action) {
			this.beforeRelease.set(action);
		}

		private LeaseStore delegate() {
			if (this.dead.get()) {
				throw new IllegalStateException("Cut off");
			}
			return this.delegate;
		}

		@Override
		public List<LeaseResult> tryAcquireOrRenew(String ownerId, Collection<LeaseRequest> requests) {
			return delegate().tryAcquireOrRenew(ownerId, requests);
		}

		@Override
		public boolean release(String role, String ownerId, long fencingToken) {
			Consumer<String> action = this.beforeRelease.get();
			if (action != null) {
				action.accept(role);
			}
			return delegate().release(role, ownerId, fencingToken);
		}

		@Override
		public java.util.Optional<Lease> find(String role) {
			return delegate().find(role);
		}

		@Override
		public List<Lease> findAll() {
			return delegate().findAll();
		}

	}

}
