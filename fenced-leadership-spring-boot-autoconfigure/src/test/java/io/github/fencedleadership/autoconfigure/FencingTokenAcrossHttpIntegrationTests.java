package io.github.fencedleadership.autoconfigure;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.task.TaskExecutionAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.http.client.autoconfigure.HttpClientAutoConfiguration;
import org.springframework.boot.http.client.autoconfigure.imperative.ImperativeHttpClientAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.restclient.autoconfigure.RestClientAutoConfiguration;
import org.springframework.boot.tomcat.autoconfigure.servlet.TomcatServletWebServerAutoConfiguration;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.DispatcherServletAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.WebMvcAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import org.springframework.http.HttpStatusCode;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.test.util.AopTestUtils;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;

import io.github.fencedleadership.annotation.FencedLeader;
import io.github.fencedleadership.annotation.FencedWrite;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.fencing.FencingContext;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.InMemoryFencingGuard;
import io.github.fencedleadership.lease.InMemoryLeaseStore;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseStore;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of two applications over real HTTP: {@code orders}, of which one node leads and
 * calls, and {@code ledger}, which is called and refuses those who led before.
 */
class FencingTokenAcrossHttpIntegrationTests {

	private static final Duration PATIENCE = Duration.ofSeconds(60);

	private final InMemoryLeaseStore leases = new InMemoryLeaseStore(new MonotonicInstantSource());

	private ConfigurableApplicationContext ledger;

	@BeforeEach
	void startLedger() {
		this.ledger = start(LedgerApplication.class, new InMemoryLeaseStore(new MonotonicInstantSource()),
				"--fenced-leadership.namespace=ledger", "--fenced-leadership.web.server.required-paths=/entries/**",
				"--spring.datasource.generate-unique-name=true", "--spring.task.execution.propagate-context=true");
		this.ledger.getBean(JdbcTemplate.class).execute("CREATE TABLE entry (name VARCHAR(20) PRIMARY KEY)");
	}

	@AfterEach
	void stopLedger() {
		this.ledger.close();
	}

	@Test
	void lateCallOfALeaderThatWasStoppedIsRefusedOnceItsSuccessorHasWritten() throws Exception {
		PausableStore storeOfFirst = new PausableStore(this.leases);
		try (ConfigurableApplicationContext first = startOrders("node-a", storeOfFirst)) {
			Caller caller = AopTestUtils.getUltimateTargetObject(first.getBean(Caller.class));
			assertThat(caller.call("a")).isEqualTo("1: 200 booked for orders/reports#1");
			try (ConfigurableApplicationContext second = startOrders("node-b", this.leases)) {
				Caller successor = AopTestUtils.getUltimateTargetObject(second.getBean(Caller.class));
				// Cut off from its store, and with work that does not heed the interrupt
				storeOfFirst.pause();
				await(() -> this.leases.find("reports").filter((lease) -> lease.fencingToken() == 2).isPresent());
				assertThat(successor.call("b")).isEqualTo("2: 200 booked for orders/reports#2");
				assertThat(caller.call("late")).startsWith("1: 409 application/problem+json ")
					.contains("\"type\":\"urn:fenced-leadership:problem:stale-fencing-token\"")
					.contains("Token '1' of role 'orders/reports' was refused: token '2' is known");
				assertThat(successor.call("c")).isEqualTo("2: 200 booked for orders/reports#2");
				assertThat(entries()).containsExactly("a", "b", "c");
				caller.end();
			}
		}
	}

	@Test
	void markOfTheCallersRoleIsNotThatOfTheReceiversRoleOfTheSameName() {
		try (ConfigurableApplicationContext orders = startOrders("node-a", this.leases)) {
			Caller caller = AopTestUtils.getUltimateTargetObject(orders.getBean(Caller.class));
			// A role 'reports' of the ledger's own, some terms ahead
			InMemoryFencingGuard guard = this.ledger.getBean(InMemoryFencingGuard.class);
			LeaseStore ownLeases = this.ledger.getBean(LeaseStore.class);
			FencingToken own = null;
			for (int i = 0; i < 3; i++) {
				own = new FencingToken("reports",
						ownLeases
							.tryAcquireOrRenew("ledger#" + i, List.of(LeaseRequest.acquire("reports", PATIENCE, 0)))
							.get(0)
							.fencingToken());
				ownLeases.release("reports", "ledger#" + i, own.value());
			}
			guard.check("entries", own);
			assertThat(caller.call("a")).isEqualTo("1: 200 booked for orders/reports#1");
			assertThat(guard.highestAccepted("entries", "orders/reports"))
				.isEqualTo(new FencingToken("orders", "reports", 1));
			assertThat(guard.highestAccepted("entries", "reports")).isEqualTo(new FencingToken("reports", 3));
		}
	}

	@Test
	void asynchronousHandlingIsFencedToo() throws Exception {
		String fresh = "ns=\"orders\", role=\"reports\", token=2";
		String stale = "ns=\"orders\", role=\"reports\", token=1";
		assertThat(post("/entries/async/a", fresh).body()).isEqualTo("booked for orders/reports#2");
		HttpResponse<String> refused = post("/entries/async/b", stale);
		assertThat(refused.statusCode()).isEqualTo(409);
		assertThat(refused.headers().firstValue("Content-Type")).contains("application/problem+json");
		assertThat(entries()).containsExactly("a");
	}

	@Test
	void requestWithoutUsableHeaderIsNotHandled() throws Exception {
		String header = "ns=\"orders\", role=\"reports\", token=1";
		for (HttpResponse<String> response : List.of(post("/entries/a"), post("/entries/a", "1"),
				post("/entries/a", header, header), post("/entries/a", header + ", token=2"))) {
			assertThat(response.statusCode()).isEqualTo(400);
			assertThat(response.headers().firstValue("Content-Type")).contains("application/problem+json");
			assertThat(response.body()).contains("urn:fenced-leadership:problem:invalid-fencing-token");
		}
		assertThat(entries()).isEmpty();
		assertThat(post("/entries/a", header).statusCode()).isEqualTo(200);
	}

	@Test
	void headerIsNotHeededWhereItIsNotConfigured() throws Exception {
		HttpResponse<String> response = post("/open/a", "ns=\"orders\", role=\"reports\", token=1");
		assertThat(response.statusCode()).as("a fenced write fails without a term").isEqualTo(500);
		assertThat(entries()).isEmpty();
	}

	@Test
	void noThreadOfTheServerKeepsATerm() throws Exception {
		for (int i = 0; i < 20; i++) {
			assertThat(post("/entries/e" + i, "ns=\"orders\", role=\"reports\", token=1").statusCode()).isEqualTo(200);
			assertThat(post("/look").body()).isEqualTo("none");
		}
	}

	private HttpResponse<String> post(String path, String... headers) throws IOException, InterruptedException {
		HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://localhost:" + port() + path))
			.POST(HttpRequest.BodyPublishers.noBody());
		Stream.of(headers).forEach((header) -> request.header("Fencing-Token", header));
		return HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
	}

	private List<String> entries() {
		return this.ledger.getBean(JdbcTemplate.class)
			.queryForList("SELECT name FROM entry ORDER BY name", String.class);
	}

	private String port() {
		return this.ledger.getEnvironment().getRequiredProperty("local.server.port");
	}

	private ConfigurableApplicationContext startOrders(String ownerId, LeaseStore store) {
		return start(OrdersApplication.class, store, "--fenced-leadership.namespace=orders",
				"--fenced-leadership.owner-id=" + ownerId, "--fenced-leadership.lease-ttl=2s",
				"--fenced-leadership.renew-interval=200ms", "--fenced-leadership.shutdown.drain-timeout=1s",
				"--fenced-leadership.web.client.hosts=localhost:" + port(), "--ledger.url=http://localhost:" + port());
	}

	private static ConfigurableApplicationContext start(Class<?> application, LeaseStore store, String... arguments) {
		String[] common = { "--fenced-leadership.store=memory", "--server.port=0", "--spring.main.banner-mode=off" };
		return new SpringApplicationBuilder(application).registerShutdownHook(false)
			.initializers((context) -> context.getBeanFactory().registerSingleton("leaseStore", store))
			.run(Stream.of(common, arguments).flatMap(Arrays::stream).toArray(String[]::new));
	}

	private static void await(Callable<Boolean> condition) {
		Awaitility.await().atMost(PATIENCE).pollInterval(Duration.ofMillis(10)).until(condition);
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ FencedLeadershipAutoConfiguration.class, FencedLeadershipFencingAutoConfiguration.class,
			FencedLeadershipWebAutoConfiguration.class, TomcatServletWebServerAutoConfiguration.class,
			DispatcherServletAutoConfiguration.class, WebMvcAutoConfiguration.class,
			TaskExecutionAutoConfiguration.class })
	static class WebApplication {

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ WebApplication.class, Caller.class })
	@ImportAutoConfiguration({ HttpClientAutoConfiguration.class, ImperativeHttpClientAutoConfiguration.class,
			RestClientAutoConfiguration.class })
	static class OrdersApplication {

	}

	@Configuration(proxyBeanMethods = false)
	@Import({ WebApplication.class, LedgerController.class, Ledger.class })
	@ImportAutoConfiguration({ DataSourceAutoConfiguration.class, DataSourceTransactionManagerAutoConfiguration.class,
			TransactionAutoConfiguration.class, JdbcTemplateAutoConfiguration.class })
	static class LedgerApplication {

	}

	/**
	 * Leader work that calls the ledger when it is told to, and heeds neither interrupts
	 * nor the end of its term.
	 */
	static class Caller {

		private final BlockingQueue<Optional<Call>> calls = new LinkedBlockingQueue<>();

		private final RestClient ledger;

		Caller(RestClient.Builder builder, Environment environment) {
			this.ledger = builder.baseUrl(environment.getRequiredProperty("ledger.url")).build();
		}

		@FencedLeader("reports")
		void lead(Leadership leadership) {
			Optional<Call> next = next();
			while (next.isPresent()) {
				Call call = next.get();
				call.answer().complete("%d: %s".formatted(leadership.fencingToken().value(), callLedger(call.entry())));
				next = next();
			}
		}

		private Optional<Call> next() {
			while (true) {
				try {
					return this.calls.take();
				}
				catch (InterruptedException ex) {
					// Not heeded, on purpose
				}
			}
		}

		private String callLedger(String entry) {
			return this.ledger.post().uri("/entries/{entry}", entry).exchange((request, response) -> {
				HttpStatusCode status = response.getStatusCode();
				String body = new String(response.getBody().readAllBytes(), StandardCharsets.UTF_8);
				return status.is2xxSuccessful() ? "%d %s".formatted(status.value(), body)
						: "%d %s %s".formatted(status.value(), response.getHeaders().getContentType(), body);
			});
		}

		String call(String entry) {
			Call call = new Call(entry, new CompletableFuture<>());
			this.calls.add(Optional.of(call));
			return call.answer().orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).join();
		}

		void end() {
			this.calls.add(Optional.empty());
		}

		private record Call(String entry, CompletableFuture<String> answer) {

		}

	}

	@RestController
	static class LedgerController {

		private final Ledger ledger;

		LedgerController(Ledger ledger) {
			this.ledger = ledger;
		}

		@PostMapping({ "/entries/{name}", "/open/{name}" })
		String book(@PathVariable String name) {
			return this.ledger.book(name);
		}

		@PostMapping("/entries/async/{name}")
		Callable<String> bookLater(@PathVariable String name) {
			return () -> this.ledger.book(name);
		}

		@PostMapping("/look")
		String look() {
			return (FencingContext.capture() != null) ? "leaked" : "none";
		}

	}

	static class Ledger {

		private final JdbcTemplate jdbc;

		Ledger(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@FencedWrite("entries")
		String book(String name) {
			this.jdbc.update("INSERT INTO entry VALUES (?)", name);
			return "booked for " + FencingToken.current().orElseThrow();
		}

	}

	/**
	 * A store that can become unreachable for one node.
	 */
	private static final class PausableStore implements LeaseStore {

		private final LeaseStore delegate;

		private volatile boolean paused;

		private PausableStore(LeaseStore delegate) {
			this.delegate = delegate;
		}

		void pause() {
			this.paused = true;
		}

		private LeaseStore delegate() {
			if (this.paused) {
				throw new IllegalStateException("The store cannot be reached");
			}
			return this.delegate;
		}

		@Override
		public List<LeaseResult> tryAcquireOrRenew(String ownerId, Collection<LeaseRequest> requests) {
			return delegate().tryAcquireOrRenew(ownerId, requests);
		}

		@Override
		public boolean release(String role, String ownerId, long fencingToken) {
			return delegate().release(role, ownerId, fencingToken);
		}

		@Override
		public Optional<Lease> find(String role) {
			return delegate().find(role);
		}

		@Override
		public List<Lease> findAll() {
			return delegate().findAll();
		}

	}

}
