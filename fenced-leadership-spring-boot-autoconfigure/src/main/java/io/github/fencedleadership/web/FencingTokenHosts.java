package io.github.fencedleadership.web;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.Collection;
import java.util.List;
import java.util.Locale;

import org.jspecify.annotations.Nullable;

/**
 * The hosts that a fencing token is sent to. A host matches as a whole or not at all.
 */
final class FencingTokenHosts {

	private final List<Host> hosts;

	FencingTokenHosts(Collection<String> hosts) {
		this.hosts = hosts.stream().map(Host::parse).toList();
	}

	boolean contains(URI uri) {
		return this.hosts.stream().anyMatch((host) -> host.matches(uri));
	}

	private record Host(String name, int port) {

		static Host parse(String host) {
			URI uri = toUri(host);
			if (uri == null || uri.getHost() == null || !host.equals(uri.getRawAuthority())
					|| uri.getRawUserInfo() != null) {
				throw new IllegalArgumentException(
						"Host '%s' is not the name or address of a host, optionally with a port, as in 'ledger.internal' or 'ledger.internal:8443': no scheme, no path, no wildcard, no underscore"
							.formatted(host));
			}
			return new Host(uri.getHost().toLowerCase(Locale.ROOT), uri.getPort());
		}

		private static @Nullable URI toUri(String host) {
			try {
				return new URI("http://" + host);
			}
			catch (URISyntaxException ex) {
				return null;
			}
		}

		boolean matches(URI uri) {
			// The host as the client understands it, which is neither in the user info
			// nor in the path
			return uri.getHost() != null && this.name.equals(uri.getHost().toLowerCase(Locale.ROOT))
					&& (this.port < 0 || this.port == port(uri));
		}

		private static int port(URI uri) {
			if (uri.getPort() >= 0) {
				return uri.getPort();
			}
			return "https".equalsIgnoreCase(uri.getScheme()) ? 443 : 80;
		}

	}

}
