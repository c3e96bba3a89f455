package io.github.fencedleadership.web;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.jspecify.annotations.Nullable;

import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.RequestPath;
import org.springframework.web.filter.OncePerRequestFilter;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;

import io.github.fencedleadership.fencing.FencingContext;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.StaleFencingTokenException;
import io.github.fencedleadership.fencing.UnknownFencingTokenException;

/**
 * Lets the code that handles a request act in the term of its caller, so that the guard
 * of this application refuses the writes of a stale one.
 * <p>
 * On the paths that accept a {@link FencingTokenHeader}, the token it carries is the
 * current one while the request is handled, also asynchronously; without the header,
 * there is none, and fenced writes fail. On the paths that require it, a request without
 * one is not handled. What goes wrong is answered as {@code application/problem+json}:
 * <ul>
 * <li>400 if the header is required and missing, or malformed, or there are several: type
 * {@value #INVALID_TYPE};</li>
 * <li>409 if the guard refuses the received token and nobody handles its exception: type
 * {@value #STALE_TYPE}, or {@value #UNKNOWN_TYPE} for a token that no term can have. The
 * caller must not try again with that token.</li>
 * </ul>
 * <p>
 * A token is compared with others of the same namespace and role only. One of the
 * application's own namespace is compared with what its own nodes use.
 * <p>
 * This is fencing, not authentication. Whoever can reach these paths can send any token:
 * one that is too high shuts out the true leader, unless the guard sees the leases of the
 * caller. Let the filter come after the one that authenticates the caller.
 */
public class FencingTokenFilter extends OncePerRequestFilter {

	/**
	 * The type of problem of a header that cannot be used.
	 */
	public static final String INVALID_TYPE = "urn:fenced-leadership:problem:invalid-fencing-token";

	/**
	 * The type of problem of a token whose term is over.
	 */
	public static final String STALE_TYPE = "urn:fenced-leadership:problem:stale-fencing-token";

	/**
	 * The type of problem of a token that no term can have.
	 */
	public static final String UNKNOWN_TYPE = "urn:fenced-leadership:problem:unknown-fencing-token";

	private static final String TERM_ATTRIBUTE = FencingTokenFilter.class.getName() + ".TERM";

	private final String namespace;

	private final List<PathPattern> accepted;

	private final List<PathPattern> required;

	/**
	 * Create a filter.
	 * @param namespace the namespace of this application's roles
	 * @param acceptedPaths patterns of the paths on which a token is accepted
	 * @param requiredPaths patterns of the paths on which a token is required
	 * @throws org.springframework.web.util.pattern.PatternParseException if one of them
	 * is none
	 */
	public FencingTokenFilter(String namespace, Collection<String> acceptedPaths, Collection<String> requiredPaths) {
		this.namespace = Objects.requireNonNull(namespace, "'namespace' must not be null");
		this.accepted = parse(acceptedPaths);
		this.required = parse(requiredPaths);
	}

	private static List<PathPattern> parse(Collection<String> patterns) {
		PathPatternParser parser = PathPatternParser.defaultInstance;
		return patterns.stream().map(parser::initFullPathPattern).map(parser::parse).toList();
	}

	@Override
	protected boolean shouldNotFilterAsyncDispatch() {
		return false;
	}

	@Override
	protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
			throws ServletException, IOException {
		if (request.getAttribute(TERM_ATTRIBUTE) instanceof ReceivedTerm term) {
			handle(term, request, response, chain);
			return;
		}
		PathContainer path = RequestPath.parse(request.getRequestURI(), request.getContextPath())
			.pathWithinApplication();
		boolean tokenRequired = matches(this.required, path);
		if (!tokenRequired && !matches(this.accepted, path)) {
			chain.doFilter(request, response);
			return;
		}
		FencingToken token;
		try {
			token = readToken(request, tokenRequired);
		}
		catch (InvalidFencingTokenHeaderException ex) {
			this.logger.debug(ex.getMessage());
			write(response, HttpStatus.BAD_REQUEST, INVALID_TYPE, "Invalid fencing token",
					Objects.requireNonNull(ex.getMessage()));
			return;
		}
		if (token == null) {
			chain.doFilter(request, response);
			return;
		}
		ReceivedTerm term = new ReceivedTerm(token);
		request.setAttribute(TERM_ATTRIBUTE, term);
		handle(term, request, response, chain);
	}

	private static boolean matches(List<PathPattern> patterns, PathContainer path) {
		return patterns.stream().anyMatch((pattern) -> pattern.matches(path));
	}

	private @Nullable FencingToken readToken(HttpServletRequest request, boolean required) {
		List<String> values = Collections.list(request.getHeaders(FencingTokenHeader.NAME));
		if (values.isEmpty() && !required) {
			return null;
		}
		if (values.size() != 1) {
			throw new InvalidFencingTokenHeaderException(
					values.isEmpty() ? "is missing and required here" : "was sent more than once");
		}
		return FencingTokenHeader.parse(values.get(0), this.namespace);
	}

	private void handle(ReceivedTerm term, HttpServletRequest request, HttpServletResponse response, FilterChain chain)
			throws ServletException, IOException {
		try (FencingContext.Scope scope = FencingContext.enter(term)) {
			chain.doFilter(request, response);
		}
		catch (ServletException | RuntimeException ex) {
			if (response.isCommitted() || !refuse(ex, term.fencingToken(), response)) {
				throw ex;
			}
		}
		finally {
			if (request.isAsyncStarted()) {
				request.getAsyncContext().addListener(term);
			}
			else {
				term.end();
			}
		}
	}

	/**
	 * Answer a request whose token was refused. A token of this application's own is none
	 * of the caller's business.
	 */
	private boolean refuse(Throwable failure, FencingToken token, HttpServletResponse response) throws IOException {
		for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
			if (cause instanceof StaleFencingTokenException stale && stale.getFencingToken().equals(token)) {
				this.logger.info("Refused a request with stale fencing token '%s': token '%d' is known".formatted(token,
						stale.getNewerToken()));
				write(response, HttpStatus.CONFLICT, STALE_TYPE, "Stale fencing token",
						"Token '%d' of role '%s' was refused: token '%d' is known, so the term is over"
							.formatted(token.value(), token.qualifiedRole(), stale.getNewerToken()));
				return true;
			}
			if (cause instanceof UnknownFencingTokenException unknown && unknown.getFencingToken().equals(token)) {
				this.logger.warn("Refused a request with fencing token '%s', which no term has".formatted(token));
				write(response, HttpStatus.CONFLICT, UNKNOWN_TYPE, "Unknown fencing token",
						"Token '%d' of role '%s' was refused: no term has it".formatted(token.value(),
								token.qualifiedRole()));
				return true;
			}
		}
		return false;
	}

	/**
	 * Write a problem. Nothing in it needs to be escaped: names are checked, and the rest
	 * is ours.
	 */
	private static void write(HttpServletResponse response, HttpStatus status, String type, String title, String detail)
			throws IOException {
		byte[] body = "{\"type\":\"%s\",\"title\":\"%s\",\"status\":%d,\"detail\":\"%s\"}"
			.formatted(type, title, status.value(), detail)
			.getBytes(StandardCharsets.UTF_8);
		response.resetBuffer();
		response.setStatus(status.value());
		response.setContentType(MediaType.APPLICATION_PROBLEM_JSON_VALUE);
		response.setContentLength(body.length);
		response.getOutputStream().write(body);
		response.flushBuffer();
	}

}
