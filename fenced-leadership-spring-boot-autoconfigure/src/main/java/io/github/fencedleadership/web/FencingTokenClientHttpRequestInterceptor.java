package io.github.fencedleadership.web;

import java.io.IOException;
import java.util.Collection;
import java.util.Objects;

import org.springframework.http.HttpRequest;
import org.springframework.http.client.ClientHttpRequestExecution;
import org.springframework.http.client.ClientHttpRequestInterceptor;
import org.springframework.http.client.ClientHttpResponse;

import io.github.fencedleadership.fencing.FencingToken;

/**
 * Sends the fencing token of the current term along with requests of a
 * {@link org.springframework.web.client.RestClient RestClient} or
 * {@link org.springframework.web.client.RestTemplate RestTemplate}, so that the service
 * that is called can refuse a stale leader.
 * <p>
 * Only to the hosts that are named, since it tells about the inside of the application.
 * Names are compared as a whole and without regard to case; a host without a port goes
 * for all ports. Outside of any term, a request is sent without the header. A term that
 * is over is sent all the same: the receiver is the one to refuse it.
 * <p>
 * Non-guarantee: if the HTTP client follows a redirect by itself, it repeats the header
 * to wherever that leads. Switch redirects off where the service that is called is not to
 * be trusted with that.
 * <p>
 * Thread-safe.
 *
 * @see FencingTokenHeader
 */
public final class FencingTokenClientHttpRequestInterceptor implements ClientHttpRequestInterceptor {

	private final String namespace;

	private final FencingTokenHosts hosts;

	/**
	 * Create an interceptor.
	 * @param namespace the namespace of this application's roles
	 * @param hosts the hosts to send tokens to, each a name or an address and optionally
	 * a port
	 * @throws IllegalArgumentException if one of them is none
	 */
	public FencingTokenClientHttpRequestInterceptor(String namespace, Collection<String> hosts) {
		this.namespace = Objects.requireNonNull(namespace, "'namespace' must not be null");
		this.hosts = new FencingTokenHosts(hosts);
	}

	@Override
	public ClientHttpResponse intercept(HttpRequest request, byte[] body, ClientHttpRequestExecution execution)
			throws IOException {
		if (this.hosts.contains(request.getURI())) {
			FencingToken.current()
				.ifPresent((token) -> request.getHeaders()
					.set(FencingTokenHeader.NAME, FencingTokenHeader.format(token, this.namespace)));
		}
		return execution.execute(request, body);
	}

}
