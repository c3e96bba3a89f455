package io.github.fencedleadership.sample.launcher;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The page in a real browser, served by the real launcher, with real processes.
 */
@TestInstance(Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES)
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "There are no signals on Windows")
class PageIntegrationTests {

	private static final Path SCREENSHOTS = Path.of("target", "page");

	private static final Pattern PAGE = Pattern.compile("The page is at (http://localhost:\\d+/)");

	private static final Pattern JDBC_URL = Pattern.compile("--spring\\.datasource\\.url=(\\S+)");

	private final List<String> output = new CopyOnWriteArrayList<>();

	private @Nullable Process launcher;

	private @Nullable Chromium browser;

	@BeforeAll
	void start(@TempDir Path directory) throws Exception {
		Path executable = Chromium.find().orElse(null);
		if (executable == null) {
			String missing = "The page is not tested: Chromium is not on the path";
			System.out.println(missing);
			assertThat(System.getenv("CI")).as(missing).isNotEqualToIgnoringCase("true");
			Assumptions.abort(missing);
		}
		this.launcher = startLauncher();
		this.browser = Chromium.start(executable, directory);
		await().atMost(Duration.ofMinutes(4))
			.untilAsserted(() -> assertThat(this.output).anyMatch((line) -> line.startsWith("The cluster is up.")));
		browser().resize(1200, 1000, false);
		browser().open(find(PAGE, this.output));
	}

	private Process startLauncher() throws IOException {
		ProcessBuilder builder = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin/java").toString(),
				ClusterLauncher.class.getName(),
				"--ports=" + FreePorts.find(3).stream().map(String::valueOf).collect(Collectors.joining(",")),
				"--page-port=0", "--fenced-leadership.lease-ttl=5s",
				"--fenced-leadership.roles.ledger.stall-timeout=5s");
		builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
		Process process = builder.redirectErrorStream(true).start();
		Thread pump = new Thread(() -> {
			try (BufferedReader reader = process.inputReader(StandardCharsets.UTF_8)) {
				reader.lines().forEach((line) -> {
					System.out.println(line);
					this.output.add(line);
				});
			}
			catch (IOException | RuntimeException ex) {
				// The process has ended.
			}
		}, "launcher-output");
		pump.setDaemon(true);
		pump.start();
		return process;
	}

	@AfterAll
	void end() throws Exception {
		if (this.browser != null) {
			this.browser.close();
		}
		if (this.launcher != null) {
			this.launcher.destroy();
			assertThat(this.launcher.waitFor(90, TimeUnit.SECONDS)).isTrue();
		}
	}

	/**
	 * Wait for leaders and a standby. A node that an earlier test has started may not be
	 * ready yet.
	 */
	@BeforeEach
	void awaitLeaders() {
		await().untilAsserted(() -> {
			assertThat(browser().texts("article .badge")).containsOnly("running").hasSize(3);
			assertThat(browser().texts("dd")).hasSize(6).isSubsetOf("leading", "standby", "unknown");
			assertThat(browser().texts("dd.leading")).hasSize(2);
			assertThat(browser().texts("div:first-child > dd.standby")).isNotEmpty();
			assertThat(browser().text("#role-ledger .leader")).startsWith("node-");
		});
	}

	@Test
	void lateWriteOfAFrozenLeaderIsRefusedWhenItWakesUp() throws Exception {
		String old = leader();
		long token = token();
		freezeInTheMiddleOfItsWork(old);
		await().untilAsserted(() -> {
			assertThat(leader()).startsWith("node-").isNotEqualTo(old);
			assertThat(token()).isEqualTo(token + 1);
		});
		assertThat(refusalsOf(token)).isEmpty();
		assertThat(browser().text("#" + old + " .badge")).isEqualTo("frozen");
		// Still the same page, with a reading that is not held up by the node
		assertThat(browser().evaluate("fetch('/').then((response) => response.status)").asInt()).isEqualTo(200);
		browser().click("#" + old + " [value=resume]");
		await().untilAsserted(() -> assertThat(refusalsOf(token)).hasSize(1));
		assertThat(browser().texts("tr.refusal:first-child td")).element(1).isEqualTo(old);
		assertThat(browser().texts("tr.refusal:first-child .token")).containsExactly(Long.toString(token),
				Long.toString(token + 1));
		await().untilAsserted(() -> assertThat(browser().texts("#" + old + " dd")).first().isEqualTo("standby"));
		assertThat(token()).isEqualTo(token + 1);
		// The old one may have been refused before the new one has written anything
		await().untilAsserted(() -> assertThat(browser().texts("[aria-labelledby=rows] td:first-child"))
			.startsWith(Long.toString(token + 1), Long.toString(token)));
		assertThat(browser().texts(".events li span")).containsSubsequence(
				"The guard refused '%s' of %s: its token %d is over, %d is known"
					.formatted(browser().texts("tr.refusal:first-child td").get(2), old, token, token + 1),
				"%s leads 'ledger' with token %d".formatted(leader(), token + 1), old + " is frozen");
		screenshots();
	}

	@Test
	void wedgedJobLosesItsLeadershipAndIsRefusedWhenItGetsOn() {
		String old = leader();
		long token = token();
		String wedge = "#" + old + " [value=wedge]";
		await().until(() -> browser().evaluate("document.querySelector('%s')?.ariaDisabled !== 'true'".formatted(wedge))
			.asBoolean());
		browser().click(wedge);
		await().untilAsserted(() -> {
			assertThat(leader()).startsWith("node-").isNotEqualTo(old);
			assertThat(token()).isEqualTo(token + 1);
			assertThat(browser().texts("#" + old + " dd")).first().isEqualTo("stalled");
		});
		assertThat(browser().text("#" + old + " .badge")).isEqualTo("running");
		assertThat(refusalsOf(token)).isEmpty();
		browser().click("#" + old + " [value=free]");
		await().untilAsserted(() -> assertThat(refusalsOf(token)).hasSize(1));
		assertThat(browser().texts(".events li span")).containsSubsequence("The job of %s gets on".formatted(old),
				"%s leads 'ledger' with token %d".formatted(leader(), token + 1),
				"The job of %s is stuck, and its process is well".formatted(old));
	}

	@Test
	void nodeIsKilledAndStartedWithTheKeyboard() {
		String standby = Stream.of("node-1", "node-2", "node-3")
			.filter((name) -> !browser().texts("#" + name + " dd").contains("leading"))
			.findFirst()
			.orElseThrow();
		browser().evaluate("document.querySelector('#%s [value=freeze]').focus()".formatted(standby));
		browser().press("Tab", 9, "");
		assertThat(focused()).isEqualTo("Kill");
		browser().press("Enter", 13, "\r");
		await().untilAsserted(() -> {
			assertThat(browser().text("#" + standby + " .badge")).isEqualTo("dead");
			assertThat(focused()).isEqualTo("Start");
			assertThat(browser().text("[role=status]")).isEqualTo(standby + " is dead");
		});
		browser().press("Enter", 13, "\r");
		await().untilAsserted(() -> {
			assertThat(browser().text("#" + standby + " .badge")).isEqualTo("running");
			assertThat(focused()).isEqualTo("Kill");
		});
	}

	/**
	 * The leader prepares an entry nearly all of the time. Should it be stopped at
	 * another moment, which the database tells, it goes on and is stopped again, before
	 * anybody has noticed.
	 */
	private void freezeInTheMiddleOfItsWork(String name) {
		await().until(() -> {
			browser().click("#" + name + " [value=freeze]");
			await().until(() -> browser().text("#" + name + " .badge").equals("frozen"));
			if (isEntryBeingPrepared()) {
				return true;
			}
			browser().click("#" + name + " [value=resume]");
			await().until(() -> browser().text("#" + name + " .badge").equals("running"));
			return false;
		});
	}

	/**
	 * Return whether the last that the leader asked of the database is an entry to be
	 * prepared.
	 */
	private boolean isEntryBeingPrepared() {
		try (Stream<ProcessHandle> processes = process().descendants()) {
			String url = find(JDBC_URL, processes.map((node) -> node.info().commandLine().orElse("")).toList());
			return JdbcClient.create(new DriverManagerDataSource(url, "postgres", "")).sql("""
					SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%entry%pg_sleep%'
					AND query_start > clock_timestamp() - INTERVAL '10 seconds' AND pid <> pg_backend_pid()
					""").query(Long.class).single() > 0;
		}
	}

	private String leader() {
		return browser().text("#role-ledger .leader");
	}

	private long token() {
		return Long.parseLong(browser().text("#role-ledger .token").replace("token ", ""));
	}

	private List<String> refusalsOf(long token) {
		return browser().texts("tr.refusal .token.over").stream().filter(Long.toString(token)::equals).toList();
	}

	private String focused() {
		return browser().evaluate("document.activeElement.textContent").asString();
	}

	/**
	 * Make pictures to look at, and see that nothing is too wide for its screen.
	 */
	private void screenshots() throws IOException {
		for (String scheme : List.of("light", "dark")) {
			browser().prefer(scheme, "reduce");
			for (int width : List.of(1200, 360)) {
				browser().resize(width, 1000, width < 500);
				assertThat(browser().evaluate("document.documentElement.scrollWidth").asInt())
					.isLessThanOrEqualTo(width);
				browser().screenshot(SCREENSHOTS.resolve("%s-%d.png".formatted(scheme, width)));
			}
		}
		browser().prefer("light", "no-preference");
		browser().resize(1200, 1000, false);
	}

	private Chromium browser() {
		Chromium browser = this.browser;
		assertThat(browser).isNotNull();
		return browser;
	}

	private Process process() {
		Process launcher = this.launcher;
		assertThat(launcher).isNotNull();
		return launcher;
	}

	private static String find(Pattern pattern, List<String> lines) {
		return lines.stream()
			.map(pattern::matcher)
			.filter(Matcher::find)
			.map((matcher) -> matcher.group(1))
			.findFirst()
			.orElseThrow();
	}

	private static ConditionFactory await() {
		return Awaitility.await().atMost(Duration.ofSeconds(90)).pollInterval(Duration.ofMillis(100));
	}

}
