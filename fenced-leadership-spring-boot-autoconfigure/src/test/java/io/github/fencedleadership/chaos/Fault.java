package io.github.fencedleadership.chaos;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import io.github.fencedleadership.chaos.ChaosCluster.Leader;
import io.github.fencedleadership.chaos.ChaosCluster.Node;
import io.github.fencedleadership.chaos.ChaosNode.Command;
import io.github.fencedleadership.chaos.TcpProxy.Loss;

/**
 * What goes wrong. Each fault is over when its injection returns, and leaves the cluster
 * with all its nodes.
 */
enum Fault {

	/** The process of a leader is stopped for longer than its lease. */
	LEADER_FROZEN(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			Leader leader = run.cluster().awaitLeader(role);
			leader.node().process().signal("STOP");
			run.expectSuccessor(leader.term(), this);
			awaitSuccessor(run, leader, () -> leader.node().process().signal("CONT"));
		}

	},

	/** {@code kill -9} of a leader. */
	LEADER_KILLED(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			Leader leader = run.cluster().awaitLeader(role);
			leader.node().process().close();
			run.expectSuccessor(leader.term(), this);
			run.cluster().start(leader.node().key());
			run.cluster().awaitLeader(role, leader.term().token());
		}

	},

	/** {@code kill} of a leader, which stops gracefully. */
	LEADER_TERMINATED(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			Leader leader = run.cluster().awaitLeader(role);
			run.expectSuccessor(leader.term(), this);
			run.expectRelease(leader.term());
			terminate(leader.node());
			run.cluster().start(leader.node().key());
		}

	},

	/** The database is stopped and started. */
	DATABASE_RESTARTED(Place.DATABASE) {

		@Override
		void inject(ChaosRun run, String role) throws Exception {
			run.server().restart();
		}

	},

	/** {@code kill -9} of the database, which recovers. */
	DATABASE_CRASHED(Place.DATABASE) {

		@Override
		void inject(ChaosRun run, String role) throws Exception {
			run.server().crash();
		}

	},

	/** The database refuses to write for longer than a lease. */
	DATABASE_READ_ONLY(Place.DATABASE) {

		@Override
		void inject(ChaosRun run, String role) throws Exception {
			run.server().setReadOnly(true);
			hold(run);
			run.server().setReadOnly(false);
		}

	},

	/** Somebody's transaction locks a lease for longer than it lasts. */
	LEASE_LOCKED(Place.DATABASE) {

		@Override
		void inject(ChaosRun run, String role) throws SQLException {
			try (Connection connection = run.cluster().connect(); Statement statement = connection.createStatement()) {
				connection.setAutoCommit(false);
				statement.executeQuery("SELECT * FROM fenced_lease WHERE namespace = '%s' AND role = '%s' FOR UPDATE"
					.formatted(ChaosNode.NAMESPACE, role));
				hold(run);
				connection.rollback();
			}
		}

	},

	/**
	 * Writes are at SERIALIZABLE, and others write to the same rows, those of the leases
	 * included.
	 */
	SERIALIZATION_FAILURES(Place.DATABASE) {

		@Override
		void inject(ChaosRun run, String role) throws SQLException {
			run.cluster().nodes().forEach((node) -> node.tell(Command.SERIALIZABLE, 1));
			long end = System.nanoTime() + run.holdTime().toNanos();
			try (Connection connection = run.cluster().connect(); Statement statement = connection.createStatement()) {
				for (int i = 0; System.nanoTime() < end; i++) {
					// The lease less often: a trigger records each change.
					String update = (i % 10 == 0)
							? "UPDATE fenced_lease SET ttl_ms = ttl_ms + 0 WHERE namespace = 'chaos' AND role = '%s'"
							: "UPDATE chaos_register SET touched = touched + 1 WHERE role = '%s'";
					try {
						statement.execute(update.formatted(role));
					}
					catch (SQLException ex) {
						// It hits us, too.
					}
				}
			}
			run.cluster().nodes().forEach((node) -> node.tell(Command.SERIALIZABLE, 0));
		}

	},

	/** A leader's application takes all connections of its pool, and keeps them. */
	POOL_EXHAUSTED(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			Leader leader = run.cluster().awaitLeader(role);
			leader.node().tell(Command.EXHAUST_POOL, run.holdTime().toMillis());
			hold(run);
		}

	},

	/** What a leader sends vanishes, and its connections stay open. */
	CONNECTIONS_HALF_OPEN(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			Leader leader = run.cluster().awaitLeader(role);
			leader.node().network().setBlackhole(true);
			run.expectSuccessor(leader.term(), this);
			awaitSuccessor(run, leader, () -> leader.node().network().setBlackhole(false));
		}

	},

	/** All connections of a leader break. */
	CONNECTIONS_CUT(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			run.cluster().awaitLeader(role).node().network().cut();
		}

	},

	/** Whatever a leader sends or receives is delayed by up to a TTL. */
	NETWORK_SLOW(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			TcpProxy network = run.cluster().awaitLeader(role).node().network();
			network.setDelay(run.cluster().ttl());
			hold(run);
			network.setDelay(Duration.ZERO);
		}

	},

	/** A statement of a leader is carried out, and its reply lost. */
	REPLY_LOST(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			lose(run, role, Loss.REPLY);
		}

	},

	/** A transaction of a leader is committed, and the reply lost. */
	COMMIT_REPLY_LOST(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			lose(run, role, Loss.COMMIT);
		}

	},

	/** Another node starts with the name of the leader, and outlives its lease. */
	OWNER_NAME_TWICE(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			Leader leader = run.cluster().awaitLeader(role);
			Node twin = run.cluster().start("twin", leader.node().name(), run.cluster().ttl());
			try {
				run.cluster().await("start of a twin", twin::hasStarted);
				leader.node().process().signal("STOP");
				awaitSuccessor(run, leader, () -> leader.node().process().signal("CONT"));
			}
			finally {
				twin.process().close();
				run.cluster().forget(twin);
			}
		}

	},

	/** The nodes are restarted one by one, with another TTL. */
	TTL_CHANGED(Place.EVERYWHERE) {

		@Override
		void inject(ChaosRun run, String role) {
			Duration ttl = run.nextTtl();
			for (Node node : run.cluster().nodes()) {
				terminate(node);
				Node started = run.cluster().start(node.key(), node.name(), ttl);
				run.cluster().await("start of '%s'".formatted(node.key()), started::hasStarted);
			}
		}

	},

	/** Listeners throw, while leaders change. */
	LISTENERS_THROW(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			changeLeaders(run, role, Command.THROW_FROM_LISTENER, 1);
		}

	},

	/** Listeners block for longer than a lease, while leaders change. */
	LISTENERS_BLOCK(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			changeLeaders(run, role, Command.BLOCK_LISTENER, run.holdTime().toMillis());
		}

	},

	/** Work goes on for a while after its end, while leaders change. */
	INTERRUPTS_IGNORED(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			changeLeaders(run, role, Command.IGNORE_INTERRUPTS, 1);
		}

	},

	/** The wall clock of a leader is an hour ahead for a while. */
	CLOCK_AHEAD(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			stepClock(run, role, Duration.ofHours(1));
		}

	},

	/** The wall clock of a leader is an hour behind for a while. */
	CLOCK_BEHIND(Place.NODE) {

		@Override
		void inject(ChaosRun run, String role) {
			stepClock(run, role, Duration.ofHours(-1));
		}

	},

	/**
	 * All nodes find themselves connected to a replica, which has all that was
	 * acknowledged and cannot be written to; then the primary dies, and the replica is
	 * promoted. PostgreSQL only.
	 */
	REPLICA_PROMOTED(Place.EVERYWHERE) {

		@Override
		void inject(ChaosRun run, String role) throws Exception {
			PostgresServer primary = (PostgresServer) run.server();
			PostgresServer replica = primary.startReplica(ChaosCluster.freePort(), primary.port());
			primary.replicateSynchronously();
			run.cluster().awaitProgress();
			run.cluster().connectTo(replica.schema());
			hold(run);
			primary.kill();
			replica.promote();
			run.moveTo(replica);
			primary.close();
		}

	};

	private final Place place;

	Fault(Place place) {
		this.place = place;
	}

	Place place() {
		return this.place;
	}

	/**
	 * Let it go wrong, and end it.
	 * @param run the run
	 * @param role a role that is concerned
	 * @throws Exception if it cannot be done
	 */
	abstract void inject(ChaosRun run, String role) throws Exception;

	private static void hold(ChaosRun run) {
		pause(run.holdTime());
	}

	private static void pause(Duration duration) {
		long end = System.nanoTime() + duration.toNanos();
		for (long left = duration.toNanos(); left > 0; left = end - System.nanoTime()) {
			LockSupport.parkNanos(Math.min(left, TimeUnit.SECONDS.toNanos(1)));
		}
	}

	private static void awaitSuccessor(ChaosRun run, Leader leader, Runnable heal) {
		try {
			run.cluster().awaitLeader(leader.term().role(), leader.term().token());
		}
		finally {
			heal.run();
		}
	}

	private static void terminate(Node node) {
		node.process().signal("TERM");
		if (!node.process().awaitExit()) {
			throw new AssertionError("Node '%s' does not end".formatted(node.key()));
		}
	}

	private static void lose(ChaosRun run, String role, Loss loss) {
		TcpProxy network = run.cluster().awaitLeader(role).node().network();
		int before = network.lost();
		network.lose(loss);
		run.cluster().await("reply to lose", () -> network.lost() > before || !run.leads(network));
		network.lose(Loss.NONE);
	}

	private static void changeLeaders(ChaosRun run, String role, Command command, long argument) {
		Leader leader = run.cluster().awaitLeader(role);
		run.cluster().nodes().forEach((node) -> node.tell(command, argument));
		leader.node().tell(Command.STEP_DOWN, 0);
		awaitSuccessor(run, leader, () -> run.cluster().nodes().forEach((node) -> node.tell(command, 0)));
	}

	private static void stepClock(ChaosRun run, String role, Duration offset) {
		Leader leader = run.cluster().awaitLeader(role);
		leader.node().tell(Command.STEP_CLOCK, offset.toMillis());
		hold(run);
		leader.node().tell(Command.STEP_CLOCK, 0);
	}

	/**
	 * Where a fault is. Faults at different places can come together.
	 */
	enum Place {

		/** At one node. */
		NODE,

		/** At the database. */
		DATABASE,

		/** At all nodes. */
		EVERYWHERE

	}

}
