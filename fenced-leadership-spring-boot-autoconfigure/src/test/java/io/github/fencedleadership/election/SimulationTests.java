package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import io.github.fencedleadership.election.Simulation.Fault;
import io.github.fencedleadership.election.Simulation.Plan;
import io.github.fencedleadership.election.Simulation.Report;
import io.github.fencedleadership.election.Simulation.Violation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

/**
 * Many seeds of the {@link Simulation}: the election keeps its guarantees whatever goes
 * wrong, and would be found out if it did not.
 */
class SimulationTests {

	private static final Duration TIME = Duration.ofSeconds(Integer.getInteger("simulation.seconds", 20));

	private static final long FIRST_SEED = Long.getLong("simulation.first-seed", 1);

	private static final Long SEED = Long.getLong("simulation.seed");

	private static final Sabotage SABOTAGE = Sabotage.valueOf(System.getProperty("simulation.sabotage", "NONE"));

	private static final int SEEDS_PER_SABOTAGE = 2000;

	@Test
	void keepsItsGuaranteesWhateverGoesWrong() {
		if (SEED != null) {
			System.out.printf("[simulation] seed %d: %s%n", SEED, new Simulation(SEED, SABOTAGE).run());
			return;
		}
		long end = System.nanoTime() + TIME.toNanos();
		Map<Fault, Long> faults = new EnumMap<>(Fault.class);
		long seeds = 0;
		long steps = 0;
		long elections = 0;
		double led = 0;
		while (seeds < 50 || System.nanoTime() < end) {
			Report report = new Simulation(FIRST_SEED + seeds++, Sabotage.NONE).run();
			steps += report.steps();
			elections += report.elections();
			led += report.led();
			report.faults().forEach((fault, count) -> faults.merge(fault, (long) count, Long::sum));
		}
		System.out.printf(
				"[simulation] %,d seeds, %,d steps, %,d elections, led for %.1f %% of the time without faults, faults: %s%n",
				seeds, steps, elections, 100 * led / seeds, faults);
		assertThat(faults).as("kinds of faults that happened").containsOnlyKeys(Fault.values());
		assertThat(elections).isGreaterThan(10 * seeds);
		assertThat(led / seeds).isGreaterThan(0.6);
	}

	@Test
	void aSeedDecidesEverything() {
		assertThat(new Simulation(4711, Sabotage.NONE).run()).isEqualTo(new Simulation(4711, Sabotage.NONE).run());
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
	void aSabotageIsFound(Sabotage sabotage) {
		for (int seed = 1; seed <= SEEDS_PER_SABOTAGE; seed++) {
			try {
				new Simulation(seed, sabotage).run();
			}
			catch (Violation ex) {
				System.out.printf("[simulation] %s was found with seed %d: %s%n", sabotage, seed,
						ex.getMessage().lines().findFirst().orElse(""));
				// Found for what it is, and not for what happens anyway.
				new Simulation(seed, Sabotage.NONE).run();
				return;
			}
		}
		fail("%s was not found with %d seeds", sabotage, SEEDS_PER_SABOTAGE);
	}

	@Test
	void clocksThatAreSlowerThanTheMarginCoversAreFound() {
		for (int seed = 1; seed <= SEEDS_PER_SABOTAGE; seed++) {
			try {
				new Simulation(seed, Sabotage.NONE, 2 - Plan.COVERED + 0.1).run();
			}
			catch (Violation ex) {
				assertThat(ex).hasMessageStartingWith("G3");
				return;
			}
		}
		fail("Nothing happens beyond what is assumed of clocks, so the bound says nothing");
	}

}
