package io.github.fencedleadership.jdbc;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.dao.DataAccessException;

import io.github.fencedleadership.membership.Node;
import io.github.fencedleadership.membership.NodeRegistry;

/**
 * A {@link NodeRegistry} in a relational database: one statement per heartbeat, by the
 * database's clock.
 * <p>
 * Nodes that have been silent for longer than the retention are deleted with the first
 * heartbeat, and once an hour after that. Failures are thrown as
 * {@link DataAccessException}. Thread-safe.
 */
public final class JdbcNodeRegistry implements NodeRegistry {

	private static final Log logger = LogFactory.getLog(JdbcNodeRegistry.class);

	private static final long CLEANUP_INTERVAL = TimeUnit.HOURS.toNanos(1);

	private final JdbcDatabase database;

	private final String namespace;

	private final Duration livenessTtl;

	private final Duration retention;

	private final LongSupplier nanoTime;

	private final AtomicLong nextCleanup;

	/**
	 * Create a registry.
	 * @param database the database
	 * @param namespace the namespace
	 * @param livenessTtl for how long a node counts as live after a heartbeat
	 * @param retention for how long a silent node is kept, at least the liveness TTL
	 */
	public JdbcNodeRegistry(JdbcDatabase database, String namespace, Duration livenessTtl, Duration retention) {
		this(database, namespace, livenessTtl, retention, System::nanoTime);
	}

	JdbcNodeRegistry(JdbcDatabase database, String namespace, Duration livenessTtl, Duration retention,
			LongSupplier nanoTime) {
		this.database = Objects.requireNonNull(database, "'database' must not be null");
		this.namespace = JdbcLeaseStore.requireValidNamespace(namespace);
		this.livenessTtl = Objects.requireNonNull(livenessTtl, "'livenessTtl' must not be null");
		this.retention = Objects.requireNonNull(retention, "'retention' must not be null");
		if (livenessTtl.isNegative() || livenessTtl.isZero()) {
			throw new IllegalArgumentException("Liveness TTL '%s' must be positive".formatted(livenessTtl));
		}
		if (retention.compareTo(livenessTtl) < 0) {
			throw new IllegalArgumentException(
					"Retention '%s' must not be shorter than the liveness TTL '%s'".formatted(retention, livenessTtl));
		}
		this.nanoTime = nanoTime;
		this.nextCleanup = new AtomicLong(nanoTime.getAsLong());
	}

	@Override
	public void heartbeat(Node node) {
		this.database.call("record the heartbeat of node '%s'".formatted(node.id()), (session, dialect) -> {
			dialect.heartbeat(session, this.namespace, node);
			return true;
		});
		long now = this.nanoTime.getAsLong();
		long due = this.nextCleanup.get();
		if (now - due >= 0 && this.nextCleanup.compareAndSet(due, now + CLEANUP_INTERVAL)) {
			cleanUp();
		}
	}

	private void cleanUp() {
		try {
			this.database.call("delete silent nodes", (session, dialect) -> {
				dialect.deleteSilentNodes(session, this.namespace, this.retention);
				return true;
			});
		}
		catch (DataAccessException ex) {
			// The heartbeat was recorded, and an hour is soon over
			logger.debug("Silent nodes could not be deleted", ex);
		}
	}

	@Override
	public List<Node> liveNodes() {
		return this.database
			.call("find live nodes", (session, dialect) -> dialect.liveNodes(session, this.namespace, this.livenessTtl))
			.stream()
			.sorted(Comparator.comparing(Node::id))
			.toList();
	}

	@Override
	public void deregister(String nodeId) {
		this.database.call("deregister node '%s'".formatted(nodeId), (session, dialect) -> {
			dialect.deregister(session, this.namespace, nodeId);
			return true;
		});
	}

}
