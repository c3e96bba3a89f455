package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

import io.github.fencedleadership.fencing.FencingToken;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ListenerDispatcher}.
 */
class ListenerDispatcherTests {

	private static final FencingToken TOKEN = new FencingToken("reports", 1);

	@Test
	void whatCannotBeToldForWantOfAThreadIsToldLaterAndInOrder() {
		AtomicBoolean exhausted = new AtomicBoolean(true);
		List<String> told = new CopyOnWriteArrayList<>();
		ListenerDispatcher dispatcher = new ListenerDispatcher(List.of(new LeadershipListener() {

			@Override
			public void granted(FencingToken token) {
				told.add("granted " + token);
			}

			@Override
			public void revoked(FencingToken token, RevocationReason reason) {
				told.add("revoked " + token);
			}

		}), (task) -> {
			if (exhausted.get()) {
				throw new OutOfMemoryError("test");
			}
			return new Thread(task);
		});
		dispatcher.granted(TOKEN);
		exhausted.set(false);
		dispatcher.revoked(TOKEN, RevocationReason.STOPPED);
		Awaitility.await()
			.atMost(Duration.ofSeconds(60))
			.untilAsserted(() -> assertThat(told).containsExactly("granted reports#1", "revoked reports#1"));
		dispatcher.close();
	}

}
