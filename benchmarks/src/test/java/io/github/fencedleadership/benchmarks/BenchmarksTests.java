package io.github.fencedleadership.benchmarks;

import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A short run of everything, so that it does not rot. What it measures means nothing.
 */
@Timeout(240)
class BenchmarksTests {

	@Test
	void everySectionMeasuresSomething() throws Exception {
		List<Table> tables = Benchmarks.smoke();
		assertThat(tables).extracting(Table::title)
			.contains("Leadership.isHeld()", "A round of renewals", "Without a leader", "Guarded writes",
					"Lock and unlock", "Start of an application", "More roles, PostgreSQL", "More nodes, PostgreSQL",
					"Statements and threads, PostgreSQL", "Statements and threads, H2");
		assertThat(tables).allSatisfy((table) -> assertThat(table.rows()).as(table.title()).isNotEmpty());
	}

}
