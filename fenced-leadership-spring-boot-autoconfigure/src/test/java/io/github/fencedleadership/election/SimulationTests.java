package io.github.fencedleadership.election;

import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import io.github.fencedleadership.election.Simulation.Fault;
import io.github.fencedleadership.election.Simulation.Report;
import io.github.fencedleadership.election.Simulation.Sabotage;
import io.github.fencedleadership.election.Simulation.Violation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

/**
 * Many seeds of the {@link Simulation}: the election keeps its guarantees whatever goes
 * wrong, and would be found out if it did not.
 */
class SimulationTests {

	private static final Duration TIME = Duration.ofSeconds(Integer.getInteger("simulation.seconds", 20));

	private static final Long SEED = Long.getLong("simulation.seed");

	private static final int SEEDS_PER_SABOTAGE = 1000;

	@Test
	void keepsItsGuaranteesWhateverGoesWrong() {
		if (SEED != null) {
			System.out.printf("[simulation] seed %d: %s%n", SEED, new Simulation(SEED, Sabotage.NONE).run());
			return;
		}
		long end = System.nanoTime() + TIME.toNanos();
		Map<Fault, Integer> faults = new EnumMap<>(Fault.class);
		long seeds = 0;
		long steps = 0;
		long elections = 0;
		while (seeds < 20 || System.nanoTime() < end) {
			Report report = new Simulation(++seeds, Sabotage.NONE).run();
			steps += report.steps();
			elections += report.elections();
			report.faults().forEach((fault, count) -> faults.merge(fault, count, Integer::sum));
		}
		System.out.printf("[simulation] %,d seeds, %,d steps, %,d elections, faults: %s%n", seeds, steps, elections,
				faults);
		assertThat(faults).as("kinds of faults that happened").containsOnlyKeys(Fault.values());
		assertThat(elections).isGreaterThan(seeds);
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
				return;
			}
		}
		fail("%s was not found with %d seeds", sabotage, SEEDS_PER_SABOTAGE);
	}

	@Test
	void clocksWhoseRatesDifferByMoreThanTheMarginAreFound() {
		for (int seed = 1; seed <= SEEDS_PER_SABOTAGE; seed++) {
			try {
				new Simulation(seed, Sabotage.NONE, 0.25).run();
			}
			catch (Violation ex) {
				assertThat(ex).hasMessageStartingWith("G3");
				return;
			}
		}
		fail("Nothing happens beyond what is assumed of clocks, so the bound says nothing");
	}

}
