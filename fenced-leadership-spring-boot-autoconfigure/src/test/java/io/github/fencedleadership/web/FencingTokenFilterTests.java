package io.github.fencedleadership.web;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;

import jakarta.servlet.AsyncEvent;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.mock.web.MockAsyncContext;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.mock.web.MockHttpServletResponse;

import io.github.fencedleadership.fencing.FencingContext;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.StaleFencingTokenException;
import io.github.fencedleadership.fencing.UnknownFencingTokenException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link FencingTokenFilter}.
 */
@ExtendWith(OutputCaptureExtension.class)
class FencingTokenFilterTests {

	private static final String HEADER = "ns=\"orders\", role=\"reports\", token=42";

	private static final FencingToken TOKEN = new FencingToken("orders", "reports", 42);

	private final FencingTokenFilter filter = new FencingTokenFilter("ledger", List.of("/books/**"),
			List.of("/ledger/**"));

	private final MockHttpServletResponse response = new MockHttpServletResponse();

	/**
	 * The current token whenever the request was handled.
	 */
	private final List<Optional<FencingToken>> seen = new ArrayList<>();

	@ParameterizedTest
	@ValueSource(strings = { "/ledger/entries", "/books/entries", "/ledger" })
	void receivedTokenIsTheCurrentOneForTheRequestAndNoLonger(String path) throws Exception {
		AtomicReference<FencingContext> leaked = new AtomicReference<>();
		handle(request(path, HEADER), (request, response) -> {
			look();
			leaked.set(FencingContext.capture());
		});
		assertThat(this.seen).containsExactly(Optional.of(TOKEN));
		assertThat(FencingContext.capture()).isNull();
		FencingContext.restore(leaked.get());
		try {
			assertThat(FencingToken.current()).as("in a thread that outlives the request").isEmpty();
		}
		finally {
			FencingContext.restore(null);
		}
	}

	@Test
	void tokenOfTheOwnNamespaceIsOneOfTheApplicationsOwn() throws Exception {
		handle(request("/ledger/entries", "ns=\"ledger\", role=\"reports\", token=42"), (request, response) -> look());
		assertThat(this.seen).containsExactly(Optional.of(new FencingToken("reports", 42)));
	}

	@Test
	void contextPathIsNotPartOfThePath() throws Exception {
		MockHttpServletRequest request = request("/app/ledger/entries", HEADER);
		request.setContextPath("/app");
		handle(request, (servletRequest, response) -> look());
		assertThat(this.seen).containsExactly(Optional.of(TOKEN));
	}

	@Test
	void headerIsIgnoredOnOtherPaths() throws Exception {
		handle(request("/public", "malformed"), (request, response) -> look());
		assertThat(this.seen).containsExactly(Optional.empty());
		assertThat(this.response.getStatus()).isEqualTo(200);
	}

	@Test
	void missingHeaderIsFineWhereItIsAccepted() throws Exception {
		handle(request("/books/entries"), (request, response) -> look());
		assertThat(this.seen).containsExactly(Optional.empty());
	}

	@Test
	void missingHeaderIsABadRequestWhereItIsRequired() throws Exception {
		handle(request("/ledger/entries"), (request, response) -> look());
		assertThat(this.seen).isEmpty();
		assertProblem(400, "invalid-fencing-token", "The 'Fencing-Token' header is missing and required here");
	}

	@ParameterizedTest
	@ValueSource(strings = { "/ledger/entries", "/books/entries" })
	void malformedHeaderIsABadRequestAndIsNeitherRepeatedNorLogged(String path) throws Exception {
		handle(request(path, "ns=\"orders\", role=\"re\r\nports<script>\", token=42"), (request, response) -> look());
		assertThat(this.seen).isEmpty();
		assertProblem(400, "invalid-fencing-token", "The 'Fencing-Token' header has no member 'role' that is a name");
		assertThat(this.response.getContentAsString()).doesNotContain("script");
	}

	@Test
	void malformedHeaderIsNotLogged(CapturedOutput output) throws Exception {
		handle(request("/ledger/entries", "needle-in-haystack"), (request, response) -> look());
		assertThat(output).doesNotContain("needle");
	}

	@Test
	void severalHeadersAreABadRequest() throws Exception {
		handle(request("/ledger/entries", HEADER, HEADER), (request, response) -> look());
		assertThat(this.seen).isEmpty();
		assertProblem(400, "invalid-fencing-token", "The 'Fencing-Token' header was sent more than once");
	}

	@Test
	void staleTokenIsAConflict(CapturedOutput output) throws Exception {
		handle(request("/ledger/entries", HEADER), (request, response) -> {
			response.getOutputStream().write("half an answer".getBytes(StandardCharsets.UTF_8));
			throw new ServletException(new StaleFencingTokenException("ledger", TOKEN, 43));
		});
		assertProblem(409, "stale-fencing-token",
				"Token '42' of role 'orders/reports' was refused: token '43' is known, so the term is over");
		assertThat(output).contains("stale fencing token 'orders/reports#42'");
	}

	@Test
	void unknownTokenIsAConflict() throws Exception {
		handle(request("/ledger/entries", HEADER), (request, response) -> {
			throw new UnknownFencingTokenException("ledger", TOKEN, 7);
		});
		assertProblem(409, "unknown-fencing-token", "Token '42' of role 'orders/reports' was refused: no term has it");
	}

	@Test
	void staleTokenOfTheApplicationsOwnIsNotTheCallersConflict() {
		StaleFencingTokenException own = new StaleFencingTokenException("ledger", new FencingToken("reports", 42), 43);
		assertThatExceptionOfType(StaleFencingTokenException.class)
			.isThrownBy(() -> handle(request("/ledger/entries", HEADER), (request, response) -> {
				throw own;
			}))
			.isSameAs(own);
	}

	@Test
	void otherFailuresAreLeftAlone() {
		assertThatExceptionOfType(IOException.class)
			.isThrownBy(() -> handle(request("/ledger/entries", HEADER), (request, response) -> {
				throw new IOException("on purpose");
			}));
		assertThat(FencingContext.capture()).isNull();
	}

	@Test
	void conflictCannotReplaceAResponseThatIsUnderWay() {
		assertThatExceptionOfType(StaleFencingTokenException.class)
			.isThrownBy(() -> handle(request("/ledger/entries", HEADER), (request, response) -> {
				response.flushBuffer();
				throw new StaleFencingTokenException("ledger", TOKEN, 43);
			}));
	}

	@Test
	void tokenLastsUntilAnAsynchronousRequestIsComplete() throws Exception {
		MockHttpServletRequest request = request("/ledger/entries", HEADER);
		request.setAsyncSupported(true);
		AtomicReference<FencingContext> handedOn = new AtomicReference<>();
		handle(request, (servletRequest, response) -> {
			servletRequest.startAsync();
			handedOn.set(FencingContext.capture());
		});
		assertThat(FencingContext.capture()).isNull();
		MockAsyncContext async = (MockAsyncContext) request.getAsyncContext();
		FencingContext.restore(handedOn.get());
		try {
			assertThat(FencingToken.current()).contains(TOKEN);
			async.getListeners().get(0).onComplete(new AsyncEvent(async));
			assertThat(FencingToken.current()).isEmpty();
		}
		finally {
			FencingContext.restore(null);
		}
	}

	@Test
	void staleTokenOfAnAsynchronousDispatchIsAConflict() throws Exception {
		MockHttpServletRequest request = request("/ledger/entries", HEADER);
		request.setAsyncSupported(true);
		handle(request, (servletRequest, response) -> servletRequest.startAsync());
		request.setAsyncStarted(false);
		request.setDispatcherType(DispatcherType.ASYNC);
		request.setRequestURI("/elsewhere");
		handle(request, (servletRequest, response) -> {
			look();
			throw new StaleFencingTokenException("ledger", TOKEN, 43);
		});
		assertThat(this.seen).containsExactly(Optional.of(TOKEN));
		assertThat(this.response.getStatus()).isEqualTo(409);
	}

	private void look() {
		this.seen.add(FencingToken.current());
	}

	private void handle(MockHttpServletRequest request, FilterChain chain) throws ServletException, IOException {
		this.filter.doFilter(request, this.response, chain);
	}

	private void assertProblem(int status, String type, String detail) throws Exception {
		assertThat(this.response.getStatus()).isEqualTo(status);
		assertThat(this.response.getContentType()).isEqualTo("application/problem+json");
		JsonNode problem = new JsonMapper().readTree(this.response.getContentAsByteArray());
		assertThat(problem.get("type").asString()).isEqualTo("urn:fenced-leadership:problem:" + type);
		assertThat(problem.get("status").asInt()).isEqualTo(status);
		assertThat(problem.get("detail").asString()).isEqualTo(detail);
		assertThat(problem.get("title").asString()).isNotBlank();
	}

	private static MockHttpServletRequest request(String path, String... headers) {
		MockHttpServletRequest request = new MockHttpServletRequest("POST", path);
		for (String header : headers) {
			request.addHeader(FencingTokenHeader.NAME, header);
		}
		return request;
	}

}
