package io.github.fencedleadership.benchmarks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

import javax.sql.DataSource;

import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;

import org.springframework.context.support.GenericApplicationContext;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;

/**
 * The peers, set up as their documentation says, with their defaults but for the TTL.
 */
final class Peers {

	private Peers() {
	}

	static DefaultLockRepository springIntegrationRepository(DataSource dataSource) {
		DefaultLockRepository repository = new DefaultLockRepository(dataSource);
		GenericApplicationContext context = new GenericApplicationContext();
		context.refresh();
		repository.setApplicationContext(context);
		repository.setTransactionManager(new JdbcTransactionManager(dataSource));
		repository.afterPropertiesSet();
		repository.afterSingletonsInstantiated();
		return repository;
	}

	static JdbcTemplateLockProvider shedLock(DataSource dataSource) {
		return new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
			.withJdbcTemplate(new JdbcTemplate(dataSource))
			.usingDbTime()
			.build());
	}

	/**
	 * A node of Spring Integration: one initiator per role.
	 */
	static final class SpringIntegrationNode implements AutoCloseable {

		private final List<LockRegistryLeaderInitiator> initiators = new ArrayList<>();

		private final DefaultLockRepository repository;

		SpringIntegrationNode(DataSource dataSource, Duration ttl, List<String> roles, Consumer<String> granted) {
			this.repository = springIntegrationRepository(dataSource);
			JdbcLockRegistry registry = new JdbcLockRegistry(this.repository, ttl);
			registry.setCacheCapacity(roles.size() + 1);
			for (String role : roles) {
				LockRegistryLeaderInitiator initiator = new LockRegistryLeaderInitiator(registry,
						new DefaultCandidate(role, role) {

							@Override
							public void onGranted(Context context) {
								granted.accept(role);
							}

							@Override
							public void onRevoked(Context context) {
							}

						});
				this.initiators.add(initiator);
			}
		}

		SpringIntegrationNode start() {
			this.initiators.forEach(LockRegistryLeaderInitiator::start);
			return this;
		}

		List<LockRegistryLeaderInitiator> initiators() {
			return this.initiators;
		}

		@Override
		public void close() {
			this.initiators.forEach(LockRegistryLeaderInitiator::stop);
			this.repository.close();
		}

	}

}
