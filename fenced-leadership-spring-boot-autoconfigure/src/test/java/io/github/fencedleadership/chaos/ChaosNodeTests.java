package io.github.fencedleadership.chaos;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import io.github.fencedleadership.chaos.HistoryEvent.Kind;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ChaosNode}, without a database.
 */
@Timeout(180)
class ChaosNodeTests {

	@Test
	void endsWhenItsParentIsGone() {
		Queue<String> output = new ConcurrentLinkedQueue<>();
		String nowhere = "jdbc:postgresql://127.0.0.1:%d/postgres".formatted(ChaosCluster.freePort());
		try (ChildJvm node = ChildJvm.start(ChaosNode.class, output::add, "node", nowhere, "postgres", "", "2000",
				"true", "red")) {
			Awaitility.await()
				.atMost(Duration.ofSeconds(60))
				.until(() -> output.stream()
					.flatMap((line) -> HistoryEvent.parse(line).stream())
					.anyMatch((event) -> event.kind() == Kind.STARTED));
			node.closeInput();
			assertThat(node.awaitExit()).isTrue();
		}
	}

}
