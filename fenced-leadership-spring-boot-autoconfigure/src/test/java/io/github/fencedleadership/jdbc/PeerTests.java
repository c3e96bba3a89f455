package io.github.fencedleadership.jdbc;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import javax.sql.DataSource;

import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.spring.annotation.EnableSchedulerLock;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.scheduling.annotation.EnableScheduling;

import io.github.fencedleadership.election.DefaultLeaderElector;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.election.LeadershipListener;
import io.github.fencedleadership.election.RevocationReason;
import io.github.fencedleadership.election.RoleSettings;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.lease.LeaseResult;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What released peers do when something goes wrong, and what happens here instead, on the
 * same database. Each test would fail if the peer had been mended, which is when the
 * documentation has to change.
 */
class PeerTests {

	private static final String ROLE = "reports";

	private static final Duration TTL = Duration.ofSeconds(2);

	private final TestSchema schema = TestDatabase.H2.createSchema().withTables();

	private final List<AutoCloseable> closeables = new ArrayList<>();

	PeerTests() {
		JdbcTemplate jdbc = new JdbcTemplate(this.schema.pool(10));
		jdbc.execute("""
				CREATE TABLE INT_LOCK (LOCK_KEY CHAR(36) NOT NULL, REGION VARCHAR(100) NOT NULL, CLIENT_ID CHAR(36),
				CREATED_DATE TIMESTAMP NOT NULL, EXPIRED_AFTER TIMESTAMP NOT NULL,
				CONSTRAINT INT_LOCK_PK PRIMARY KEY (LOCK_KEY, REGION))""");
		jdbc.execute("""
				CREATE TABLE shedlock (name VARCHAR(64) NOT NULL PRIMARY KEY, lock_until TIMESTAMP NOT NULL,
				locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL)""");
	}

	@AfterEach
	void close() throws Exception {
		for (int i = this.closeables.size() - 1; i >= 0; i--) {
			this.closeables.get(i).close();
		}
		this.schema.close();
	}

	@Test
	void aLeaderWhoseStoreTimesOutDoesNotBelieveWhenAPeerHasTakenOver() throws Exception {
		FailingDataSource failing = new FailingDataSource(this.schema.pool(10));
		LockRegistryLeaderInitiator peerA = initiator(failing, new DefaultCandidate("a", ROLE));
		eventually(() -> peerA.getContext().isLeader());
		LockRegistryLeaderInitiator peerB = initiator(this.schema.pool(10), new DefaultCandidate("b", ROLE));
		Candidate ourA = new Candidate();
		elector("a", failing, ourA);
		eventually(() -> ourA.leads());
		Candidate ourB = new Candidate();
		elector("b", this.schema.pool(10), ourB);
		failing.fails.set(true);
		eventually(() -> peerB.getContext().isLeader());
		assertThat(peerA.getContext().isLeader()).as("the peer believes although another leads").isTrue();
		eventually(() -> ourB.leads());
		assertThat(ourA.leads()).isFalse();
		failing.fails.set(false);
	}

	@Test
	void whoHandsOverHasEndedItsWorkBeforeAnotherBegins() throws Exception {
		CountDownLatch mayEnd = new CountDownLatch(1);
		AtomicInteger revoked = new AtomicInteger();
		LockRegistryLeaderInitiator peerA = initiator(this.schema.pool(10), new DefaultCandidate("a", ROLE) {

			@Override
			public void onRevoked(Context context) {
				super.onRevoked(context);
				awaitUninterruptibly(mayEnd);
				revoked.incrementAndGet();
			}

		});
		eventually(() -> peerA.getContext().isLeader());
		LockRegistryLeaderInitiator peerB = initiator(this.schema.pool(10), new DefaultCandidate("b", ROLE));
		peerA.getContext().yield();
		eventually(() -> peerB.getContext().isLeader());
		assertThat(revoked).as("the peer's former leader has been told and is done").hasValue(0);

		Candidate ourA = new Candidate();
		ourA.mayEnd = mayEnd;
		DefaultLeaderElector elector = elector("a", this.schema.pool(10), ourA);
		eventually(() -> ourA.leads());
		Candidate ourB = new Candidate();
		elector("b", this.schema.pool(10), ourB);
		elector.stepDown(ROLE);
		eventually(() -> ourA.interrupted);
		// For longer than a successor would need that does not wait
		Awaitility.await().during(TTL).atMost(Duration.ofSeconds(30)).until(() -> ourB.leadership == null);
		mayEnd.countDown();
		eventually(() -> ourB.leads());
	}

	@Test
	void aListenerThatThrowsDoesNotEndTheElection() throws Exception {
		AtomicInteger grants = new AtomicInteger();
		LockRegistryLeaderInitiator peer = initiator(this.schema.pool(10), new DefaultCandidate("a", ROLE) {

			@Override
			public void onGranted(Context context) {
				super.onGranted(context);
				grants.incrementAndGet();
			}

			@Override
			public void onRevoked(Context context) {
				throw new IllegalStateException("simulated");
			}

		});
		eventually(() -> grants.get() == 1);
		peer.getContext().yield();
		eventually(() -> !peer.getContext().isLeader());
		Candidate ours = new Candidate();
		DefaultLeaderElector elector = elector("a", this.schema.pool(10), ours, new LeadershipListener() {

			@Override
			public void revoked(FencingToken token, RevocationReason reason) {
				throw new IllegalStateException("simulated");
			}

		});
		eventually(() -> ours.leads());
		elector.stepDown(ROLE);
		eventually(() -> ours.leads() && ours.leadership.fencingToken().value() == 2);
		assertThat(peer.isRunning()).as("the peer says that it is running").isTrue();
		assertThat(grants).as("and has never led again").hasValue(1);
	}

	@Test
	void whoHasLostItsLeaseFreesNobodyElses() {
		LockProvider peerA = shedLock();
		LockProvider peerB = shedLock();
		LockProvider peerC = shedLock();
		SimpleLock lockOfA = lock(peerA, Duration.ofMillis(200)).orElseThrow();
		eventually(() -> lock(peerB, Duration.ofMinutes(1)).isPresent());
		lockOfA.unlock();
		assertThat(lock(peerC, Duration.ofMinutes(1))).as("a lock that is held, of a host of the same name")
			.isPresent();

		JdbcLeaseStore leases = new JdbcLeaseStore(this.schema.open(), "peers");
		LeaseResult leaseOfA = leases.tryAcquireOrRenew(ROLE, "host#a", Duration.ofMillis(200));
		eventually(() -> leases.tryAcquireOrRenew(ROLE, "host#b", Duration.ofMinutes(1)).acquired());
		assertThat(leases.release(ROLE, "host#a", leaseOfA.fencingToken())).isFalse();
		assertThat(leases.tryAcquireOrRenew(ROLE, "host#c", Duration.ofMinutes(1)).acquired()).isFalse();
	}

	@Test
	void aMethodThatCannotBeWrappedDoesNotRunUnfenced() {
		new ApplicationContextRunner().withUserConfiguration(ShedLockConfiguration.class)
			.withBean(LockProvider.class, this::shedLock)
			.run((context) -> {
				assertThat(lock(shedLock(), Duration.ofMinutes(1))).isPresent();
				Job job = context.getBean(Job.class);
				job.open();
				job.closed();
				assertThat(Job.runs).as("calls while somebody else holds the lock").containsExactly("final");
			});
		// Ours is FencedLeaderValidationTests.finalMethodIsRejected
	}

	private LockRegistryLeaderInitiator initiator(DataSource dataSource, DefaultCandidate candidate) {
		DefaultLockRepository repository = new DefaultLockRepository(dataSource);
		repository.setTransactionManager(new JdbcTransactionManager(dataSource));
		repository.afterPropertiesSet();
		repository.afterSingletonsInstantiated();
		repository.start();
		LockRegistryLeaderInitiator initiator = new LockRegistryLeaderInitiator(new JdbcLockRegistry(repository, TTL),
				candidate);
		initiator.setHeartBeatMillis(200);
		initiator.setBusyWaitMillis(50);
		initiator.start();
		this.closeables.add(initiator::destroy);
		return initiator;
	}

	private DefaultLeaderElector elector(String name, DataSource dataSource, Candidate candidate,
			LeadershipListener... listeners) {
		JdbcDatabase database = JdbcDatabase.builder(dataSource)
			.ownPool(false)
			.connectionTimeout(Duration.ofMillis(150))
			.queryTimeout(Duration.ofMillis(150))
			.build();
		this.closeables.add(database);
		DefaultLeaderElector.Builder builder = DefaultLeaderElector.builder(new JdbcLeaseStore(database, "peers"))
			.ownerName(name)
			.settings(RoleSettings.of(TTL));
		for (LeadershipListener listener : listeners) {
			builder.listener(listener);
		}
		DefaultLeaderElector elector = builder.build();
		this.closeables.add(elector);
		elector.register(LeaderTask.of(ROLE, candidate::lead));
		elector.start();
		elector.contend();
		return elector;
	}

	private LockProvider shedLock() {
		return new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
			.withJdbcTemplate(new JdbcTemplate(this.schema.pool(2)))
			.withLockedByValue("host")
			.usingDbTime()
			.build());
	}

	private static Optional<SimpleLock> lock(LockProvider provider, Duration atMost) {
		return provider.lock(new LockConfiguration(Instant.now(), ROLE, atMost, Duration.ZERO));
	}

	private static void eventually(Callable<Boolean> condition) {
		Awaitility.await().atMost(Duration.ofSeconds(60)).until(condition);
	}

	private static void awaitUninterruptibly(CountDownLatch latch) {
		boolean interrupted = false;
		while (true) {
			try {
				latch.await();
				break;
			}
			catch (InterruptedException ex) {
				interrupted = true;
			}
		}
		if (interrupted) {
			Thread.currentThread().interrupt();
		}
	}

	private static final class Candidate {

		private volatile @Nullable Leadership leadership;

		private volatile boolean interrupted;

		private @Nullable CountDownLatch mayEnd;

		boolean leads() {
			Leadership current = this.leadership;
			return current != null && current.isHeld();
		}

		void lead(Leadership leadership) throws InterruptedException {
			this.leadership = leadership;
			while (leadership.await(Duration.ofMillis(100))) {
				leadership.progress();
			}
			this.interrupted = true;
			CountDownLatch latch = this.mayEnd;
			if (latch != null) {
				awaitUninterruptibly(latch);
			}
		}

	}

	private static final class FailingDataSource extends DelegatingDataSource {

		private final AtomicBoolean fails = new AtomicBoolean();

		FailingDataSource(DataSource target) {
			super(target);
		}

		@Override
		public Connection getConnection() throws SQLException {
			Connection connection = super.getConnection();
			return (Connection) Proxy.newProxyInstance(Connection.class.getClassLoader(),
					new Class<?>[] { Connection.class }, (proxy, method, args) -> {
						if (this.fails.get() && method.getName().equals("prepareStatement")) {
							throw new SQLTimeoutException("simulated");
						}
						try {
							return method.invoke(connection, args);
						}
						catch (InvocationTargetException ex) {
							throw ex.getTargetException();
						}
					});
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableScheduling
	@EnableSchedulerLock(defaultLockAtMostFor = "1m")
	static class ShedLockConfiguration {

		@Bean
		Job job() {
			Job.runs.clear();
			return new Job();
		}

	}

	static class Job {

		static final List<String> runs = new ArrayList<>();

		@SchedulerLock(name = ROLE)
		public void open() {
			runs.add("wrapped");
		}

		@SchedulerLock(name = ROLE)
		public final void closed() {
			runs.add("final");
		}

	}

}
