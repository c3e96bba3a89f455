package io.github.fencedleadership.jdbc;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseStore;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Random sequences of operations have the same answers on every store as in memory.
 */
class JdbcLeaseStoreModelTests {

	private static final int SEQUENCES = 60;

	private static final int OPERATIONS = 60;

	private static final List<String> ROLES = List.of("a", "A", "b.c", "d-e", "f:g", "h_i");

	private static final List<String> OWNERS = List.of("node-a#1", "node-b#1", "node-b#2", "Node-b#2");

	@ParameterizedTest
	@EnumSource
	void answersLikeTheModel(TestDatabase database) {
		long seed = Long.getLong("model.seed", System.nanoTime());
		try (TestSchema schema = database.createSchema().withTables()) {
			JdbcDatabase jdbcDatabase = schema.openWithTestClock();
			for (int sequence = 0; sequence < SEQUENCES; sequence++) {
				// A namespace of its own is an empty store
				LeaseStore store = new JdbcLeaseStore(jdbcDatabase, "n" + sequence);
				run(schema, store, new InMemoryLeaseStore(schema::now), seed + sequence);
			}
		}
	}

	private void run(TestSchema schema, LeaseStore store, LeaseStore model, long seed) {
		Random random = new Random(seed);
		StringBuilder trace = new StringBuilder("-Dmodel.seed=%d".formatted(seed));
		for (int i = 0; i < OPERATIONS; i++) {
			String owner = pick(OWNERS, random);
			String role = pick(ROLES, random);
			switch (random.nextInt(10)) {
				case 0, 1 -> {
					Duration step = random.nextBoolean() ? Duration.ofMillis(random.nextInt(1500))
							: Duration.ofNanos(1000L * random.nextInt(3));
					trace.append("\nadvance ").append(step);
					schema.advance(step);
				}
				case 2, 3 -> {
					long token = token(model, role, random);
					trace.append("\nrelease ").append(role).append(' ').append(owner).append(' ').append(token);
					assertThat(store.release(role, owner, token)).as(trace::toString)
						.isEqualTo(model.release(role, owner, token));
				}
				case 4 -> assertThat(store.findAll()).as(trace::toString).isEqualTo(model.findAll());
				case 5 -> assertThat(store.find(role)).as(trace::toString).isEqualTo(model.find(role));
				default -> {
					List<LeaseRequest> requests = requests(model, random);
					trace.append('\n').append(owner).append(' ').append(requests);
					assertThat(store.tryAcquireOrRenew(owner, requests)).as(trace::toString)
						.isEqualTo(model.tryAcquireOrRenew(owner, requests));
				}
			}
		}
		assertThat(store.findAll()).as(trace::toString).isEqualTo(model.findAll());
	}

	private static List<LeaseRequest> requests(LeaseStore model, Random random) {
		List<String> roles = new ArrayList<>(ROLES);
		Collections.shuffle(roles, random);
		return roles.subList(0, random.nextInt(ROLES.size() + 1)).stream().map((role) -> {
			OptionalLong held = random.nextBoolean() ? OptionalLong.of(token(model, role, random))
					: OptionalLong.empty();
			Duration ttl = Duration.ofMillis(1 + random.nextInt(2000)).plusNanos(random.nextInt(1_000_000));
			return new LeaseRequest(role, ttl, held, random.nextInt(4) == 0 ? random.nextInt(20) : 0);
		}).toList();
	}

	private static long token(LeaseStore model, String role, Random random) {
		long current = model.find(role).map((lease) -> lease.fencingToken()).orElse(0L);
		return (random.nextInt(4) == 0) ? random.nextInt(5) : current;
	}

	private static String pick(List<String> values, Random random) {
		return values.get(random.nextInt(values.size()));
	}

}
