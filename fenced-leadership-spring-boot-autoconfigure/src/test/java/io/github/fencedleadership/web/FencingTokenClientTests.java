package io.github.fencedleadership.web;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.mock.http.client.MockClientHttpRequest;
import org.springframework.mock.http.client.MockClientHttpResponse;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;

import io.github.fencedleadership.fencing.FencingContext;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.TestTerm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link FencingTokenClientHttpRequestInterceptor} and
 * {@link FencingTokenExchangeFilterFunction}.
 */
class FencingTokenClientTests {

	private static final List<String> HOSTS = List.of("ledger.internal", "Billing.internal:8443", "[::1]");

	private final FencingTokenClientHttpRequestInterceptor interceptor = new FencingTokenClientHttpRequestInterceptor(
			"orders", HOSTS);

	private final FencingTokenExchangeFilterFunction filter = new FencingTokenExchangeFilterFunction("orders", HOSTS);

	private final TestTerm term = new TestTerm("reports", 42);

	@ParameterizedTest
	@ValueSource(strings = { "http://ledger.internal/", "https://LEDGER.internal:8443/a?b=c", "http://[::1]:8080/",
			"https://billing.INTERNAL:8443/", "http://user:secret@ledger.internal/" })
	void tokenIsSentToHostsThatAreNamed(String uri) {
		try (FencingContext.Scope scope = this.term.enter()) {
			assertThat(sent(uri)).containsExactly("ns=\"orders\", role=\"reports\", token=42");
			assertThat(sentReactively(uri)).containsExactly("ns=\"orders\", role=\"reports\", token=42");
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "http://ledger.internal.example.com/", "http://example.com/ledger.internal",
			"http://example.com?ledger.internal", "http://ledger.internal@example.com/",
			"http://ledger.internal:80@example.com/", "http://xledger.internal/", "http://ledger.internal./",
			"http://billing.internal/", "https://billing.internal/", "http://billing.internal:8444/",
			"http://ledger_internal/", "http://example.com/#@ledger.internal" })
	void tokenIsNotSentToOtherHosts(String uri) {
		try (FencingContext.Scope scope = this.term.enter()) {
			assertThat(sent(uri)).isEmpty();
			assertThat(sentReactively(uri)).isEmpty();
		}
	}

	@Test
	void portOfTheSchemeCounts() {
		FencingTokenHosts hosts = new FencingTokenHosts(List.of("plain.internal:80", "secure.internal:443"));
		assertThat(hosts.contains(URI.create("http://plain.internal/"))).isTrue();
		assertThat(hosts.contains(URI.create("https://plain.internal/"))).isFalse();
		assertThat(hosts.contains(URI.create("https://secure.internal/"))).isTrue();
		assertThat(hosts.contains(URI.create("http://secure.internal/"))).isFalse();
	}

	@Test
	void nothingIsSentOutsideOfATerm() {
		assertThat(sent("http://ledger.internal/")).isEmpty();
		assertThat(sentReactively("http://ledger.internal/")).isEmpty();
	}

	@Test
	void nothingIsSentAfterTheWorkOfTheTermHasEnded() {
		try (FencingContext.Scope scope = this.term.enter()) {
			this.term.end();
			assertThat(sent("http://ledger.internal/")).isEmpty();
			assertThat(sentReactively("http://ledger.internal/")).isEmpty();
		}
	}

	@Test
	void tokenOfACallerIsPassedOnAsSuch() {
		TestTerm ofCaller = new TestTerm(new FencingToken("shop", "sync", 7));
		try (FencingContext.Scope scope = ofCaller.enter()) {
			assertThat(sent("http://ledger.internal/")).containsExactly("ns=\"shop\", role=\"sync\", token=7");
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "*.internal", "*", "http://ledger.internal", "ledger.internal/path", "ledger_internal",
			"user@ledger.internal", "ledger.internal:port", "ledger.internal?", "ledger.internal#a", "a b", "a,b" })
	void whatIsNoHostIsRejected(String host) {
		assertThatIllegalArgumentException()
			.isThrownBy(() -> new FencingTokenClientHttpRequestInterceptor("orders", List.of(host)))
			.withMessageContaining("Host '%s' is not".formatted(host));
		assertThatIllegalArgumentException()
			.isThrownBy(() -> new FencingTokenExchangeFilterFunction("orders", List.of(host)))
			.withMessageContaining("Host '%s' is not".formatted(host));
	}

	private List<String> sent(String uri) {
		MockClientHttpRequest request = new MockClientHttpRequest(HttpMethod.POST, URI.create(uri));
		try {
			// Twice, as with a retry further in
			for (int i = 0; i < 2; i++) {
				this.interceptor
					.intercept(request, new byte[0],
							(intercepted, body) -> new MockClientHttpResponse(new byte[0], HttpStatus.OK))
					.close();
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		return request.getHeaders().getOrDefault(FencingTokenHeader.NAME, List.of());
	}

	private List<String> sentReactively(String uri) {
		AtomicReference<ClientRequest> exchanged = new AtomicReference<>();
		this.filter.filter(ClientRequest.create(HttpMethod.POST, URI.create(uri)).build(), (request) -> {
			exchanged.set(request);
			return Mono.just(ClientResponse.create(HttpStatus.OK).build());
		}).block();
		return exchanged.get().headers().getOrDefault(FencingTokenHeader.NAME, List.of());
	}

}
