package io.github.fencedleadership.jdbc;

import java.time.Duration;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.util.ClassUtils;

/**
 * A pool of the store's own, made of the configuration of the application's pool: same
 * database, credentials, schema and driver properties, but no waiting behind the
 * application's work.
 */
final class OwnPool {

	/** Hikari accepts no shorter waits. */
	private static final long MIN_TIMEOUT_MS = 250;

	private static final boolean HIKARI_PRESENT = ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource",
			OwnPool.class.getClassLoader());

	private OwnPool() {
	}

	/**
	 * Return a pool of one's own.
	 * @param dataSource the application's DataSource
	 * @param connectionTimeout for how long to wait for a connection
	 * @return the pool, {@code null} if the DataSource is not a Hikari pool
	 */
	static @Nullable PoolHandle copyOf(DataSource dataSource, Duration connectionTimeout) {
		return HIKARI_PRESENT ? Hikari.copyOf(dataSource, connectionTimeout) : null;
	}

	/**
	 * An open pool.
	 *
	 * @param dataSource the pool
	 * @param close closes it
	 */
	record PoolHandle(DataSource dataSource, Runnable close) {

	}

	/** Loaded only if Hikari is there. */
	private static final class Hikari {

		private Hikari() {
		}

		static @Nullable PoolHandle copyOf(DataSource dataSource, Duration connectionTimeout) {
			HikariDataSource original = unwrap(dataSource);
			if (original == null) {
				return null;
			}
			HikariConfig config = new HikariConfig();
			original.copyStateTo(config);
			long timeout = Math.max(connectionTimeout.toMillis(), MIN_TIMEOUT_MS);
			config.setPoolName(
					((original.getPoolName() != null) ? original.getPoolName() : "HikariPool") + "-fenced-leadership");
			// One more to listen with
			config.setMaximumPoolSize(Connections.MAX_CONNECTIONS + 1);
			config.setMinimumIdle(0);
			config.setConnectionTimeout(timeout);
			config.setValidationTimeout(timeout);
			config.setInitializationFailTimeout(-1);
			config.setLeakDetectionThreshold(0);
			config.setAutoCommit(true);
			config.setReadOnly(false);
			config.setTransactionIsolation("TRANSACTION_READ_COMMITTED");
			config.setRegisterMbeans(false);
			config.setAllowPoolSuspension(false);
			// Hikari minds one being set, even to null, while the other is there
			if (config.getMetricsTrackerFactory() != null) {
				config.setMetricsTrackerFactory(null);
			}
			else {
				config.setMetricRegistry(null);
			}
			config.setHealthCheckRegistry(null);
			HikariDataSource pool = new HikariDataSource(config);
			return new PoolHandle(pool, pool::close);
		}

		/**
		 * Only wrappers that always lead to the same target are looked through: the
		 * target of a routing DataSource depends on who asks.
		 */
		private static @Nullable HikariDataSource unwrap(DataSource dataSource) {
			DataSource current = dataSource;
			while (current != null) {
				if (current instanceof HikariDataSource hikari) {
					return hikari;
				}
				if (current instanceof AbstractRoutingDataSource) {
					return null;
				}
				if (current instanceof DelegatingDataSource delegating) {
					current = delegating.getTargetDataSource();
				}
				else if (AopUtils.isAopProxy(current)
						&& AopProxyUtils.getSingletonTarget(current) instanceof DataSource target) {
					current = target;
				}
				else {
					return safeUnwrap(current);
				}
			}
			return null;
		}

		private static @Nullable HikariDataSource safeUnwrap(DataSource dataSource) {
			try {
				return dataSource.isWrapperFor(HikariDataSource.class) ? dataSource.unwrap(HikariDataSource.class)
						: null;
			}
			catch (Exception ex) {
				return null;
			}
		}

	}

}
