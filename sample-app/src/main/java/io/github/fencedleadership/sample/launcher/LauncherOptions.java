package io.github.fencedleadership.sample.launcher;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalInt;

/**
 * What the launcher was asked for.
 *
 * @param ports the ports of the nodes, as many as there are to be nodes
 * @param pagePort the port of the page, 0 for any that is free; empty if nobody cares
 * @param nodeArguments what is passed on to every node
 */
record LauncherOptions(List<Integer> ports, OptionalInt pagePort, List<String> nodeArguments) {

	/**
	 * The port of the page if it is free and nobody has asked for another one.
	 */
	static final int DEFAULT_PAGE_PORT = 8080;

	static final String PORTS = "--ports=";

	static final String PAGE_PORT = "--page-port=";

	private static final List<Integer> DEFAULT_PORTS = List.of(8081, 8082, 8083);

	LauncherOptions {
		ports = List.copyOf(ports);
		nodeArguments = List.copyOf(nodeArguments);
	}

	/**
	 * Parse the arguments of the launcher: {@code --ports=8081,8082,8083},
	 * {@code --page-port=8080}, and anything else for the nodes.
	 * @param arguments the arguments
	 * @return the options
	 * @throws IllegalArgumentException if the ports are not ports
	 */
	static LauncherOptions parse(String... arguments) {
		List<Integer> ports = DEFAULT_PORTS;
		OptionalInt pagePort = OptionalInt.empty();
		List<String> nodeArguments = new ArrayList<>();
		for (String argument : arguments) {
			if (argument.startsWith(PORTS)) {
				ports = parsePorts(argument.substring(PORTS.length()));
			}
			else if (argument.startsWith(PAGE_PORT)) {
				pagePort = OptionalInt.of(parsePagePort(argument.substring(PAGE_PORT.length())));
			}
			else {
				nodeArguments.add(argument);
			}
		}
		if (pagePort.isPresent() && ports.contains(pagePort.getAsInt())) {
			throw new IllegalArgumentException(
					"Port '%d' is that of a node too: give the page its own".formatted(pagePort.getAsInt()));
		}
		return new LauncherOptions(ports, pagePort, nodeArguments);
	}

	private static List<Integer> parsePorts(String value) {
		List<Integer> ports = new ArrayList<>();
		for (String port : value.split(",", -1)) {
			ports.add(parsePort(port.trim(), PORTS + value, 1));
		}
		if (new HashSet<>(ports).size() < ports.size()) {
			throw new IllegalArgumentException(
					"Ports '%s' name a port twice: give every node its own".formatted(value));
		}
		return ports;
	}

	private static int parsePagePort(String value) {
		return parsePort(value.trim(), PAGE_PORT + value, 0);
	}

	private static int parsePort(String port, String argument, int lowest) {
		try {
			int number = Integer.parseInt(port);
			if (number >= lowest && number <= 65535) {
				return number;
			}
		}
		catch (NumberFormatException ex) {
			// told below
		}
		throw new IllegalArgumentException(
				"Port '%s' of '%s' is not a number from %d to 65535".formatted(port, argument, lowest));
	}

}
