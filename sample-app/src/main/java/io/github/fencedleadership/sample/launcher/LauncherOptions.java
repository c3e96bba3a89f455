package io.github.fencedleadership.sample.launcher;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;

/**
 * What the launcher was asked for.
 *
 * @param ports the ports of the nodes, as many as there are to be nodes
 * @param nodeArguments what is passed on to every node
 */
record LauncherOptions(List<Integer> ports, List<String> nodeArguments) {

	private static final String PORTS = "--ports=";

	private static final List<Integer> DEFAULT_PORTS = List.of(8081, 8082, 8083);

	LauncherOptions {
		ports = List.copyOf(ports);
		nodeArguments = List.copyOf(nodeArguments);
	}

	/**
	 * Parse the arguments of the launcher: {@code --ports=8081,8082,8083}, and anything
	 * else for the nodes.
	 * @param arguments the arguments
	 * @return the options
	 * @throws IllegalArgumentException if the ports are not ports
	 */
	static LauncherOptions parse(String... arguments) {
		List<Integer> ports = DEFAULT_PORTS;
		List<String> nodeArguments = new ArrayList<>();
		for (String argument : arguments) {
			if (argument.startsWith(PORTS)) {
				ports = parsePorts(argument.substring(PORTS.length()));
			}
			else {
				nodeArguments.add(argument);
			}
		}
		return new LauncherOptions(ports, nodeArguments);
	}

	private static List<Integer> parsePorts(String value) {
		List<Integer> ports = new ArrayList<>();
		for (String port : value.split(",", -1)) {
			ports.add(parsePort(port.trim(), value));
		}
		if (new HashSet<>(ports).size() < ports.size()) {
			throw new IllegalArgumentException(
					"Ports '%s' name a port twice: give every node its own".formatted(value));
		}
		return ports;
	}

	private static int parsePort(String port, String value) {
		try {
			int number = Integer.parseInt(port);
			if (number >= 1 && number <= 65535) {
				return number;
			}
		}
		catch (NumberFormatException ex) {
			// told below
		}
		throw new IllegalArgumentException(
				"Port '%s' of '%s%s' is not a number from 1 to 65535".formatted(port, PORTS, value));
	}

}
