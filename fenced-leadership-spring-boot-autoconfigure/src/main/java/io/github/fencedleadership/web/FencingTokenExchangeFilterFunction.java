package io.github.fencedleadership.web;

import java.util.Collection;
import java.util.Objects;

import reactor.core.publisher.Mono;

import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.ExchangeFunction;

import io.github.fencedleadership.fencing.FencingToken;

/**
 * Sends the fencing token of the current term along with requests of a
 * {@link org.springframework.web.reactive.function.client.WebClient WebClient}, as
 * {@link FencingTokenClientHttpRequestInterceptor} does for other clients.
 * <p>
 * The current term is that of the thread which subscribes, as with {@link Mono#block()}
 * on the thread of the work. Where a pipeline subscribes on another thread, switch on
 * Reactor's automatic context propagation.
 * <p>
 * Thread-safe.
 *
 * @see FencingTokenHeader
 */
public final class FencingTokenExchangeFilterFunction implements ExchangeFilterFunction {

	private final String namespace;

	private final FencingTokenHosts hosts;

	/**
	 * Create a filter.
	 * @param namespace the namespace of this application's roles
	 * @param hosts the hosts to send tokens to, each a name or an address and optionally
	 * a port
	 * @throws IllegalArgumentException if one of them is none
	 */
	public FencingTokenExchangeFilterFunction(String namespace, Collection<String> hosts) {
		this.namespace = Objects.requireNonNull(namespace, "'namespace' must not be null");
		this.hosts = new FencingTokenHosts(hosts);
	}

	@Override
	public Mono<ClientResponse> filter(ClientRequest request, ExchangeFunction next) {
		if (!this.hosts.contains(request.url())) {
			return next.exchange(request);
		}
		return FencingToken.current()
			.map((token) -> FencingTokenHeader.format(token, this.namespace))
			.map((value) -> ClientRequest.from(request)
				.headers((headers) -> headers.set(FencingTokenHeader.NAME, value))
				.build())
			.map(next::exchange)
			.orElseGet(() -> next.exchange(request));
	}

}
