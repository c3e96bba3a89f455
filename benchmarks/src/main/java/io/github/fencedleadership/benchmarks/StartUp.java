package io.github.fencedleadership.benchmarks;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * What the starter adds to the start of an application: fresh processes with it on the
 * class path and without, in turns.
 */
final class StartUp {

	private StartUp() {
	}

	static void measure(Scale scale, Database.Server server, Table table) throws Exception {
		String with = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
		String without = Arrays.stream(with.split(File.pathSeparator))
			.filter((entry) -> !entry.contains("fenced-leadership-spring-boot"))
			.collect(Collectors.joining(File.pathSeparator));
		if (without.equals(with)) {
			throw new IllegalStateException("The starter is not on the class path: " + with);
		}
		Samples plain = new Samples();
		Samples ours = new Samples();
		Samples added = new Samples();
		for (int round = scale.isSmoke() ? 0 : -1; round < scale.starts(); round++) {
			double plainMillis = start(server, without);
			double ourMillis = start(server, with);
			if (round >= 0) {
				plain.add(plainMillis);
				ours.add(ourMillis);
				added.add(ourMillis - plainMillis);
			}
		}
		table.row(server.database(), plain, plain.spread(), ours, ours.spread(), added, added.spread());
	}

	private static double start(Database.Server server, String classPath) throws Exception {
		List<String> command = new ArrayList<>(
				List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m", "-cp",
						classPath, StartUpApplication.class.getName()));
		command.add("--spring.application.name=start-up");
		command.add("--spring.main.banner-mode=off");
		command.add("--spring.datasource.url=" + server.url());
		command.add("--spring.datasource.username=" + server.username());
		command.add("--fenced-leadership.roles.reports.lease-ttl=30s");
		command.add("--logging.level.root=WARN");
		Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
		String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
		if (!process.waitFor(1, TimeUnit.MINUTES) || process.exitValue() != 0) {
			throw new IllegalStateException("The application did not start: " + output);
		}
		return output.lines()
			.filter((line) -> line.startsWith(StartUpApplication.READY))
			.mapToDouble((line) -> Double.parseDouble(line.substring(StartUpApplication.READY.length())))
			.findFirst()
			.orElseThrow(() -> new IllegalStateException(output));
	}

}
