package io.github.fencedleadership.autoconfigure;

import java.net.InetAddress;
import java.net.UnknownHostException;

import org.springframework.util.StringUtils;

/**
 * The name of this host, for people to read.
 */
final class HostName {

	private HostName() {
	}

	static String get() {
		try {
			return InetAddress.getLocalHost().getHostName();
		}
		catch (UnknownHostException ex) {
			// A host that cannot resolve its own name, as in some containers
			String name = System.getenv("HOSTNAME");
			return StringUtils.hasText(name) ? name : "localhost";
		}
	}

}
