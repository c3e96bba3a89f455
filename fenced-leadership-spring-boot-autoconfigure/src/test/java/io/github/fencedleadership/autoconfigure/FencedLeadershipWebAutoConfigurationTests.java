package io.github.fencedleadership.autoconfigure;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.restclient.RestClientCustomizer;
import org.springframework.boot.restclient.RestTemplateCustomizer;
import org.springframework.boot.restclient.autoconfigure.RestClientAutoConfiguration;
import org.springframework.boot.restclient.autoconfigure.RestTemplateAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.boot.webclient.WebClientCustomizer;
import org.springframework.boot.webclient.autoconfigure.WebClientAutoConfiguration;
import org.springframework.core.Ordered;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.client.ClientHttpResponse;
import org.springframework.mock.http.client.MockClientHttpRequest;
import org.springframework.mock.http.client.MockClientHttpResponse;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.mock.web.MockHttpServletResponse;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestTemplate;
import org.springframework.web.filter.OncePerRequestFilter;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.WebClient;

import io.github.fencedleadership.fencing.FencingContext;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.TestTerm;
import io.github.fencedleadership.web.FencingTokenClientHttpRequestInterceptor;
import io.github.fencedleadership.web.FencingTokenExchangeFilterFunction;
import io.github.fencedleadership.web.FencingTokenFilter;
import io.github.fencedleadership.web.FencingTokenHeader;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link FencedLeadershipWebAutoConfiguration}.
 */
class FencedLeadershipWebAutoConfigurationTests {

	private static final String HEADER = "ns=\"orders\", role=\"reports\", token=42";

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(FencedLeadershipAutoConfiguration.class,
				FencedLeadershipWebAutoConfiguration.class, RestClientAutoConfiguration.class,
				RestTemplateAutoConfiguration.class, WebClientAutoConfiguration.class))
		.withPropertyValues("fenced-leadership.store=memory", "fenced-leadership.namespace=orders");

	private final ApplicationContextRunner withHosts = this.contextRunner
		.withPropertyValues("fenced-leadership.web.client.hosts=ledger.internal,billing.internal:8443");

	private final WebApplicationContextRunner webContextRunner = new WebApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(FencedLeadershipAutoConfiguration.class,
				FencedLeadershipWebAutoConfiguration.class))
		.withPropertyValues("fenced-leadership.store=memory", "fenced-leadership.namespace=ledger");

	private final TestTerm term = new TestTerm("reports", 42);

	// Client

	@Test
	void nothingIsSentUnlessHostsAreNamed() {
		this.contextRunner.run((context) -> assertThat(context).hasNotFailed()
			.doesNotHaveBean(FencingTokenClientHttpRequestInterceptor.class)
			.doesNotHaveBean(FencingTokenExchangeFilterFunction.class));
	}

	@Test
	void nothingIsSentToAnEmptyListOfHosts() {
		this.contextRunner.withPropertyValues("fenced-leadership.web.client.hosts=").run((context) -> {
			RestClient client = context.getBean(RestClient.Builder.class)
				.requestFactory((uri, method) -> respond(method, uri))
				.build();
			try (FencingContext.Scope scope = this.term.enter()) {
				assertThat(client.post().uri("http://ledger.internal/").retrieve().body(String.class))
					.isEqualTo("none");
			}
		});
	}

	@Test
	void restClientsOfTheBuilderSendTheToken() {
		this.withHosts.run((context) -> {
			RestClient client = context.getBean(RestClient.Builder.class)
				.requestFactory((uri, method) -> respond(method, uri))
				.build();
			try (FencingContext.Scope scope = this.term.enter()) {
				assertThat(client.post().uri("http://ledger.internal/").retrieve().body(String.class))
					.isEqualTo(HEADER);
				assertThat(client.post().uri("http://example.com/").retrieve().body(String.class)).isEqualTo("none");
			}
		});
	}

	@Test
	void restTemplatesOfTheBuilderSendTheToken() {
		this.withHosts.run((context) -> {
			RestTemplate template = new RestTemplate((uri, method) -> respond(method, uri));
			context.getBeansOfType(RestTemplateCustomizer.class)
				.values()
				.forEach((customizer) -> customizer.customize(template));
			try (FencingContext.Scope scope = this.term.enter()) {
				assertThat(template.getForObject("https://billing.internal:8443/", String.class)).isEqualTo(HEADER);
				assertThat(template.getForObject("https://billing.internal/", String.class)).isEqualTo("none");
			}
		});
	}

	@Test
	void webClientsOfTheBuilderSendTheToken() {
		this.withHosts.run((context) -> {
			WebClient client = context.getBean(WebClient.Builder.class).exchangeFunction((request) -> {
				String value = request.headers().getFirst(FencingTokenHeader.NAME);
				return Mono.just(ClientResponse.create(HttpStatus.OK).body((value != null) ? value : "none").build());
			}).build();
			try (FencingContext.Scope scope = this.term.enter()) {
				assertThat(client.post().uri("http://ledger.internal/").retrieve().bodyToMono(String.class).block())
					.isEqualTo(HEADER);
				assertThat(client.post().uri("http://example.com/").retrieve().bodyToMono(String.class).block())
					.isEqualTo("none");
			}
		});
	}

	@Test
	void clientsThatAreNotThereAreDoneWithout() {
		this.withHosts.withClassLoader(new FilteredClassLoader(WebClient.class))
			.run((context) -> assertThat(context).hasNotFailed()
				.hasSingleBean(FencingTokenClientHttpRequestInterceptor.class)
				.doesNotHaveBean(FencingTokenExchangeFilterFunction.class));
		this.withHosts.withClassLoader(new FilteredClassLoader(RestClientCustomizer.class))
			.run((context) -> assertThat(context).hasNotFailed()
				.doesNotHaveBean(FencingTokenClientHttpRequestInterceptor.class)
				.hasSingleBean(FencingTokenExchangeFilterFunction.class));
		new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(FencedLeadershipAutoConfiguration.class,
					FencedLeadershipWebAutoConfiguration.class))
			.withPropertyValues("fenced-leadership.store=memory", "fenced-leadership.web.client.hosts=ledger.internal",
					"fenced-leadership.web.server.accepted-paths=/**")
			.withClassLoader(new FilteredClassLoader("org.springframework.web", "org.springframework.boot.restclient",
					"org.springframework.boot.webclient", "jakarta.servlet", "io.micrometer.context", "reactor"))
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void interceptorAndFilterOfTheUserAreUsed() {
		FencingTokenClientHttpRequestInterceptor interceptor = new FencingTokenClientHttpRequestInterceptor("mine",
				List.of("ledger.internal"));
		FencingTokenExchangeFilterFunction filter = new FencingTokenExchangeFilterFunction("mine",
				List.of("ledger.internal"));
		this.withHosts.withBean("interceptor", FencingTokenClientHttpRequestInterceptor.class, () -> interceptor)
			.withBean("filter", FencingTokenExchangeFilterFunction.class, () -> filter)
			.run((context) -> {
				assertThat(context.getBean(FencingTokenClientHttpRequestInterceptor.class)).isSameAs(interceptor);
				assertThat(context.getBean(FencingTokenExchangeFilterFunction.class)).isSameAs(filter);
				assertThat(context).hasSingleBean(WebClientCustomizer.class);
			});
	}

	@ParameterizedTest
	@ValueSource(strings = { "*.internal", "http://ledger.internal" })
	void invalidHostFailsTheStartNamingTheProperty(String host) {
		this.contextRunner.withPropertyValues("fenced-leadership.web.client.hosts=ledger.internal," + host)
			.run((context) -> {
				assertThat(context).hasFailed();
				FailureAnalysis analysis = new InvalidFencedLeadershipPropertyFailureAnalyzer()
					.analyze(context.getStartupFailure());
				assertThat(analysis).isNotNull();
				assertThat(analysis.getDescription()).contains("'fenced-leadership.web.client.hosts'")
					.contains("Host '%s' is not".formatted(host));
			});
	}

	// Server

	@Test
	void nothingIsReceivedUnlessPathsAreNamed() {
		this.webContextRunner
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(FilterRegistrationBean.class));
	}

	@Test
	void acceptedPathsAreEnough() {
		this.webContextRunner.withPropertyValues("fenced-leadership.web.server.accepted-paths=/books/**")
			.run((context) -> {
				FencingTokenFilter filter = filter(context.getBean(FilterRegistrationBean.class));
				assertThat(status(filter, "/books/a", HEADER)).isEqualTo(200);
				assertThat(status(filter, "/books/a", null)).isEqualTo(200);
				assertThat(status(filter, "/books/a", "malformed")).isEqualTo(400);
			});
	}

	@Test
	void requiredPathsAreEnough() {
		this.webContextRunner.withPropertyValues("fenced-leadership.web.server.required-paths=/ledger/**,/book")
			.run((context) -> {
				FencingTokenFilter filter = filter(context.getBean(FilterRegistrationBean.class));
				assertThat(status(filter, "/ledger/a", HEADER)).isEqualTo(200);
				assertThat(status(filter, "/ledger/a", null)).isEqualTo(400);
				assertThat(status(filter, "/book", null)).isEqualTo(400);
				assertThat(status(filter, "/books", null)).isEqualTo(200);
			});
	}

	@Test
	void filterComesLastSoThatCallersAreAuthenticatedBefore() {
		this.webContextRunner.withPropertyValues("fenced-leadership.web.server.required-paths=/**")
			.run((context) -> assertThat(context.getBean(FilterRegistrationBean.class).getOrder())
				.isEqualTo(Ordered.LOWEST_PRECEDENCE));
	}

	@Test
	void namespaceReachesTheFilter() {
		this.webContextRunner.withPropertyValues("fenced-leadership.web.server.required-paths=/**").run((context) -> {
			FencingTokenFilter filter = filter(context.getBean(FilterRegistrationBean.class));
			MockHttpServletRequest request = new MockHttpServletRequest("POST", "/");
			request.addHeader(FencingTokenHeader.NAME, "ns=\"ledger\", role=\"reports\", token=42");
			filter.doFilter(request, new MockHttpServletResponse(), (servletRequest,
					response) -> assertThat(FencingToken.current()).contains(new FencingToken("reports", 42)));
		});
	}

	@Test
	void registrationOfTheUserIsUsed() {
		FilterRegistrationBean<FencingTokenFilter> registration = new FilterRegistrationBean<>(
				new FencingTokenFilter("mine", List.of(), List.of()));
		this.webContextRunner.withPropertyValues("fenced-leadership.web.server.required-paths=/**")
			.withBean("fencingTokenFilterRegistration", FilterRegistrationBean.class, () -> registration)
			.run((context) -> assertThat(context.getBean(FilterRegistrationBean.class)).isSameAs(registration));
	}

	@Test
	void filterIsNotRegisteredWithoutServlets() {
		this.contextRunner.withPropertyValues("fenced-leadership.web.server.required-paths=/**")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(FilterRegistrationBean.class));
		this.webContextRunner.withPropertyValues("fenced-leadership.web.server.required-paths=/**")
			.withClassLoader(new FilteredClassLoader(OncePerRequestFilter.class))
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(FilterRegistrationBean.class));
	}

	@Test
	void invalidPatternFailsTheStartNamingTheProperty() {
		this.webContextRunner.withPropertyValues("fenced-leadership.web.server.required-paths=/ledger/{id")
			.run((context) -> {
				assertThat(context).hasFailed();
				FailureAnalysis analysis = new InvalidFencedLeadershipPropertyFailureAnalyzer()
					.analyze(context.getStartupFailure());
				assertThat(analysis).isNotNull();
				assertThat(analysis.getDescription()).contains("'fenced-leadership.web.server.required-paths'")
					.contains("/ledger/{id");
			});
	}

	private static FencingTokenFilter filter(FilterRegistrationBean<?> registration) {
		return (FencingTokenFilter) registration.getFilter();
	}

	private static int status(FencingTokenFilter filter, String path, String header) throws Exception {
		MockHttpServletRequest request = new MockHttpServletRequest("POST", path);
		if (header != null) {
			request.addHeader(FencingTokenHeader.NAME, header);
		}
		MockHttpServletResponse response = new MockHttpServletResponse();
		filter.doFilter(request, response, (servletRequest, servletResponse) -> {
		});
		return response.getStatus();
	}

	/**
	 * Let a request be answered with the token it was sent with.
	 */
	private static MockClientHttpRequest respond(HttpMethod method, URI uri) {
		return new MockClientHttpRequest(method, uri) {

			@Override
			protected ClientHttpResponse executeInternal() {
				String value = getHeaders().getFirst(FencingTokenHeader.NAME);
				MockClientHttpResponse response = new MockClientHttpResponse(
						((value != null) ? value : "none").getBytes(StandardCharsets.UTF_8), HttpStatus.OK);
				response.getHeaders().setContentType(MediaType.TEXT_PLAIN);
				return response;
			}

		};
	}

}
