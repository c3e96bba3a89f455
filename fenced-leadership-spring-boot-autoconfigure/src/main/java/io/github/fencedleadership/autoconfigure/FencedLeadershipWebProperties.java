package io.github.fencedleadership.autoconfigure;

import java.util.ArrayList;
import java.util.List;

import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * Configuration properties for fencing tokens across HTTP.
 */
@ConfigurationProperties("fenced-leadership.web")
public class FencedLeadershipWebProperties {

	private final Client client = new Client();

	private final Server server = new Server();

	public Client getClient() {
		return this.client;
	}

	public Server getServer() {
		return this.server;
	}

	/**
	 * Requests that this application sends.
	 */
	public static class Client {

		/**
		 * Hosts that the fencing token of the current term is sent to, each a name or an
		 * address and optionally a port. Compared as a whole. None by default.
		 */
		private List<String> hosts = new ArrayList<>();

		public List<String> getHosts() {
			return this.hosts;
		}

		public void setHosts(List<String> hosts) {
			this.hosts = hosts;
		}

	}

	/**
	 * Requests that this application receives.
	 */
	public static class Server {

		/**
		 * Patterns of the paths on which the fencing token of a caller is accepted, so
		 * that its writes are fenced by it. None by default.
		 */
		private List<String> acceptedPaths = new ArrayList<>();

		/**
		 * Patterns of the paths on which a request without the fencing token of its
		 * caller is answered with 400. None by default.
		 */
		private List<String> requiredPaths = new ArrayList<>();

		public List<String> getAcceptedPaths() {
			return this.acceptedPaths;
		}

		public void setAcceptedPaths(List<String> acceptedPaths) {
			this.acceptedPaths = acceptedPaths;
		}

		public List<String> getRequiredPaths() {
			return this.requiredPaths;
		}

		public void setRequiredPaths(List<String> requiredPaths) {
			this.requiredPaths = requiredPaths;
		}

	}

}
