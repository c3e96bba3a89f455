package io.github.fencedleadership.chaos;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

import io.github.fencedleadership.chaos.ChaosCluster.Leader;
import io.github.fencedleadership.chaos.ChaosNode.Command;
import io.github.fencedleadership.chaos.HistoryEvent.Kind;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What is lost when a replica is promoted that had not caught up, and what is not. (That
 * one which had caught up loses nothing, {@link Fault#REPLICA_PROMOTED} shows.)
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@EnabledOnOs(value = { OS.LINUX, OS.MAC },
		disabledReason = "It needs signals, and a monotonic clock that processes share")
class ReplicaPromotionIntegrationTests {

	private static final String ROLE = "red";

	private PostgresServer primary;

	private PostgresServer replica;

	private TcpProxy replication;

	private ChaosCluster cluster;

	/** The highest token that was granted before the promotion. */
	private long highest;

	@BeforeEach
	void loseATerm() throws Exception {
		this.primary = PostgresServer.start(ChaosCluster.freePort());
		this.replication = new TcpProxy(new InetSocketAddress(InetAddress.getLoopbackAddress(), this.primary.port()));
		this.cluster = new ChaosCluster(this.primary.schema(), Duration.ofSeconds(1), List.of(ROLE), true);
		this.cluster.start("node-a");
		this.cluster.start("node-b");
		Leader first = this.cluster.awaitLeader(ROLE);
		this.replica = this.primary.startReplica(ChaosCluster.freePort(), this.replication.port());
		this.primary.awaitReplica();
		this.cluster.awaitProgress();
		this.replication.setBlackhole(true);
		first.node().tell(Command.STEP_DOWN, 0);
		this.cluster.awaitLeader(ROLE, first.term().token());
		this.cluster.awaitProgress();
	}

	@AfterEach
	void close() throws Exception {
		for (AutoCloseable started : new AutoCloseable[] { this.cluster, this.replication, this.replica,
				this.primary }) {
			if (started != null) {
				started.close();
			}
		}
	}

	/**
	 * The acknowledged writes of the lost term are lost with it. Its token is not granted
	 * again: all nodes have seen it.
	 */
	@Test
	void nodesThatLiveGoOnAboveTheTokensThatTheDatabaseHasLost() throws Exception {
		promote();
		this.cluster.awaitLeader(ROLE, this.highest);
		this.cluster.awaitProgress();
		this.cluster.finish();
		HistoryChecker checker = new HistoryChecker(this.cluster.history());
		assertThat(checker.lost()).isNotEmpty();
		// Nothing else than that the database knows nothing of it any more.
		assertThat(checker.check()).isNotEmpty()
			.allMatch(
					(violation) -> violation.contains("acknowledged writes are missing") || violation.endsWith("null"));
	}

	/**
	 * Nothing and nobody knows of the lost term any more, so that its token is granted
	 * again. This is why tokens have to be raised by hand after a restore.
	 */
	@Test
	void tokensThatNobodyHasSeenAreGrantedAgain() throws Exception {
		this.cluster.nodes().forEach((node) -> node.process().close());
		promote();
		this.cluster.nodes().forEach((node) -> this.cluster.start(node.key()));
		this.cluster.awaitProgress();
		this.cluster.finish();
		assertThat(new HistoryChecker(this.cluster.history()).check())
			.anyMatch((violation) -> violation.startsWith("G1: token") && violation.contains("was granted to")
					&& violation.contains("and to"))
			.anyMatch((violation) -> violation.contains("acknowledged writes are missing"));
	}

	private void promote() throws Exception {
		this.primary.kill();
		this.highest = this.cluster.history()
			.events()
			.stream()
			.filter((event) -> event.kind() == Kind.GRANTED)
			.mapToLong(HistoryEvent::token)
			.max()
			.getAsLong();
		this.replica.promote();
		this.cluster.moveTo(this.replica.schema());
	}

}
