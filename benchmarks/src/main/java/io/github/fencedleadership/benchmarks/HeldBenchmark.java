package io.github.fencedleadership.benchmarks;

import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

import io.github.fencedleadership.election.DefaultLeaderElector;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.LeaderTask;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.lease.InMemoryLeaseStore;

/**
 * What work pays for asking whether it still leads.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class HeldBenchmark {

	/**
	 * The two clocks that have to be read.
	 * @return their sum
	 */
	@Benchmark
	public long clocks() {
		return System.nanoTime() + System.currentTimeMillis();
	}

	/**
	 * Asked by the thread that works, which thereby shows progress.
	 * @param term the term
	 * @return whether it leads
	 */
	@Benchmark
	public boolean isHeldByWork(Term term) {
		return term.own.isHeld();
	}

	/**
	 * Asked by another thread, which only watches.
	 * @param term the term
	 * @return whether it leads
	 */
	@Benchmark
	public boolean isHeldByWatcher(Term term) {
		return term.watched.isHeld();
	}

	/**
	 * Looked up by the thread that works, and asked.
	 * @param term the term
	 * @return whether it leads
	 */
	@Benchmark
	public boolean isHeldOfCurrent(Term term) {
		return Leadership.current(term.own.role()).orElseThrow().isHeld();
	}

	static void measure(Scale scale, Table table) throws RunnerException {
		TimeValue time = scale.isSmoke() ? TimeValue.milliseconds(50) : TimeValue.milliseconds(500);
		Collection<RunResult> results = new Runner(new OptionsBuilder().include(HeldBenchmark.class.getName() + ".*")
			.forks(scale.forks())
			.warmupIterations(scale.isSmoke() ? 1 : 5)
			.warmupTime(time)
			.measurementIterations(scale.isSmoke() ? 2 : 5)
			.measurementTime(time)
			.addProfiler(GCProfiler.class)
			.shouldFailOnError(true)
			.build()).run();
		for (RunResult result : results) {
			String name = result.getParams().getBenchmark();
			table.row(name.substring(name.lastIndexOf('.') + 1), result.getPrimaryResult().getScore(),
					result.getPrimaryResult().getScoreError(),
					Objects.requireNonNull(result.getSecondaryResults().get("gc.alloc.rate.norm")).getScore());
		}
	}

	/**
	 * A term that the calling thread works in, and one that it only watches.
	 */
	@State(Scope.Thread)
	public static class Term {

		final DefaultLeaderElector elector;

		final LeaderElector.Scope scope;

		final Leadership own;

		final Leadership watched;

		public Term() {
			this.elector = DefaultLeaderElector.builder(new InMemoryLeaseStore(InstantSource.system())).build();
			CompletableFuture<Leadership> watched = new CompletableFuture<>();
			this.elector.register(LeaderTask.holding("own"));
			this.elector.register(LeaderTask.of("watched", (leadership) -> {
				watched.complete(leadership);
				leadership.await(Duration.ofHours(1));
			}));
			this.elector.start();
			this.elector.contend();
			this.watched = watched.join();
			// The same round has granted both
			this.scope = this.elector.enter("own").orElseThrow();
			this.own = this.scope.leadership();
		}

		@TearDown
		public void close() {
			this.scope.close();
			this.elector.close();
		}

	}

}
