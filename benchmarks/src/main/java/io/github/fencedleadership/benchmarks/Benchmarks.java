package io.github.fencedleadership.benchmarks;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/**
 * Measures everything and writes the report: {@code target/benchmarks.md} and
 * {@code target/benchmarks-growth.svg}. After a full run the same goes between the
 * markers of the documentation, if there is one to be found.
 * <p>
 * Arguments: {@code smoke} for a run that only shows that it still works, and names of
 * sections to measure these alone.
 */
public final class Benchmarks {

	private static final String BEGIN = "<!-- measured: begin -->";

	private static final String END = "<!-- measured: end -->";

	private static final Path DOCUMENTATION = Path.of("..", "docs");

	private final Scale scale;

	private final Set<String> wanted;

	private final List<Table> tables = new ArrayList<>();

	private String plot = "";

	private Benchmarks(Scale scale, Set<String> wanted) {
		this.scale = scale;
		this.wanted = wanted;
	}

	public static void main(String[] arguments) throws Exception {
		Set<String> wanted = new TreeSet<>(Arrays.asList(arguments));
		boolean smoke = wanted.remove("smoke");
		Benchmarks benchmarks = new Benchmarks(smoke ? Scale.smoke() : Scale.full(), wanted);
		benchmarks.run();
		benchmarks.write(Path.of("target"));
		if (!smoke && wanted.isEmpty()) {
			benchmarks.document();
		}
		System.exit(0);
	}

	static List<Table> smoke() throws Exception {
		Benchmarks benchmarks = new Benchmarks(Scale.smoke(), Set.of());
		benchmarks.run();
		benchmarks.write(Path.of("target"));
		return benchmarks.tables;
	}

	private void run() throws Exception {
		long start = System.nanoTime();
		Table machine = new Table("Machine and run", "What it was measured on.", "what", "value");
		machine.row("processors", Runtime.getRuntime().availableProcessors());
		machine.row("operating system", System.getProperty("os.name") + " " + System.getProperty("os.version") + ", "
				+ System.getProperty("os.arch"));
		machine.row("Java", System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"));
		machine.row("load average when the run began",
				Samples.format(ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage()));
		this.tables.add(machine);
		nanoseconds();
		Table renewals = table("renewals", "A round of renewals",
				"All leases in one call of the store, against one UPDATE by primary key for each that commits by itself; in turns.",
				"database", "leases", "in one call, ms", "spread", "one by one, ms", "spread", "times faster",
				"renewals/s");
		Table handOver = table("latency", "Without a leader",
				"From the moment the role is free until the work of the next leader runs, in milliseconds. Nodes and server share the machine, and so its clock.",
				"database", "who", "what", "samples", "median", "p99", "spread");
		Table writes = table("writes", "Guarded writes",
				"Transactions per second of one-row updates, plain and guarded, in turns. The ratio is that of the times; that of a round's pair, its median and spread.",
				"database", "writers", "statements", "plain/s", "guarded/s", "ratio", "spread",
				"guarded against one writer");
		Table pairs = table("pairs", "Lock and unlock",
				"Pairs per second, one after the other on one thread, in turns. Ours also issues a token.", "database",
				"who", "pairs/s", "spread", "against ours");
		Table starts = table("start", "Start of an application",
				"From the start of the process until the application is ready, with the schema in place, in milliseconds. With one role to contend for; both use their database at start.",
				"database", "without, ms", "spread", "with, ms", "spread", "added, ms", "spread");
		for (Database database : this.scale.databases()) {
			say("starting " + database);
			try (Database.Server server = database.start()) {
				if (isWanted("renewals")) {
					say("renewals, " + database);
					Renewals.measure(this.scale, server, renewals);
				}
				if (isWanted("writes")) {
					say("guarded writes, " + database);
					Writes.measure(this.scale, server, writes);
				}
				if (isWanted("pairs")) {
					say("lock and unlock, " + database);
					LockPairs.measure(this.scale, server, pairs);
				}
				if (isWanted("latency")) {
					say("hand-over, " + database);
					Latencies latencies = new Latencies(this.scale, server);
					latencies.measureHandOver(handOver);
					if (database == Database.POSTGRESQL) {
						say("takeover, " + database);
						latencies.measureTakeover(handOver);
					}
				}
				if (isWanted("start") && database == Database.POSTGRESQL) {
					say("start, " + database);
					StartUp.measure(this.scale, server, starts);
				}
				if (isWanted("growth")) {
					growth(server);
				}
				if (isWanted("steady")) {
					say("statements, " + database);
					this.tables.add(new Steady(this.scale, server).measure());
				}
			}
		}
		machine.row("duration", Duration.ofSeconds((long) ((System.nanoTime() - start) / 1e9)).toString());
	}

	private void nanoseconds() throws Exception {
		if (isWanted("nanoseconds")) {
			say("nanoseconds");
			HeldBenchmark.measure(this.scale, table("nanoseconds", "Leadership.isHeld()",
					"JMH, nanoseconds and bytes per call.", "what", "ns/call", "error (99.9 %)", "bytes allocated"));
		}
	}

	private void growth(Database.Server server) throws Exception {
		Growth growth = new Growth(this.scale, server);
		say("more roles, " + server.database());
		this.tables.add(growth.measureRoles());
		say("many roles, three nodes, " + server.database());
		this.tables.add(growth.measureLoss());
		if (server.database() == Database.POSTGRESQL) {
			say("more nodes, " + server.database());
			this.tables.add(growth.measureNodes());
			this.plot = Plot.of("One call for all roles, " + server.database(), "roles", "milliseconds",
					growth.curves());
		}
	}

	private boolean isWanted(String section) {
		return this.wanted.isEmpty() || this.wanted.contains(section);
	}

	private Table table(String section, String title, String note, String... columns) {
		Table table = new Table(title, note, columns);
		if (isWanted(section)) {
			this.tables.add(table);
		}
		return table;
	}

	private String report() {
		StringBuilder report = new StringBuilder();
		this.tables.forEach((table) -> report.append(table.toMarkdown()));
		return report.toString();
	}

	@SuppressWarnings("SystemOut")
	private void write(Path directory) throws IOException {
		Files.createDirectories(directory);
		Files.writeString(directory.resolve("benchmarks.md"), report());
		if (!this.plot.isEmpty()) {
			Files.writeString(directory.resolve("benchmarks-growth.svg"), this.plot);
		}
		System.out.println(report());
	}

	private void document() throws IOException {
		Path page = DOCUMENTATION.resolve("benchmarks.md");
		if (!Files.exists(page)) {
			return;
		}
		String text = Files.readString(page);
		int begin = text.indexOf(BEGIN);
		int end = text.indexOf(END);
		if (begin >= 0 && end > begin) {
			Files.writeString(page,
					text.substring(0, begin + BEGIN.length()) + "\n\n" + report() + text.substring(end));
			Files.writeString(DOCUMENTATION.resolve("benchmarks-growth.svg"), this.plot);
			say("the tables of " + page.getFileName() + " are those of this run");
		}
	}

	@SuppressWarnings("SystemOut")
	private static void say(String what) {
		System.out.println(String.format(Locale.ROOT, "[benchmarks %tT] %s", System.currentTimeMillis(), what));
	}

}
