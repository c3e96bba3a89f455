package io.github.fencedleadership.sample.launcher;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Arrays;

import com.sun.net.httpserver.HttpServer;

/**
 * A node without an application, for tests of what is around it. Reports when it is
 * closed, and whether it had its database then.
 */
final class BareNode {

	static final String CLOSED_WITH_DATABASE = "closed while the database was up";

	private BareNode() {
	}

	public static void main(String[] arguments) throws IOException {
		NodeProcess.exitWithLauncher((line) -> {
		});
		Path report = Path.of(argument(arguments, "report"), argument(arguments, "fenced-leadership.owner-id"));
		String url = argument(arguments, "spring.datasource.url");
		Runtime.getRuntime().addShutdownHook(new Thread(() -> close(url, report)));
		HttpServer server = HttpServer
			.create(new InetSocketAddress(Integer.parseInt(argument(arguments, "server.port"))), 0);
		server.createContext("/actuator/health", (exchange) -> {
			exchange.sendResponseHeaders(200, -1);
			exchange.close();
		});
		server.start();
	}

	private static String argument(String[] arguments, String name) {
		String prefix = "--" + name + "=";
		return Arrays.stream(arguments)
			.filter((argument) -> argument.startsWith(prefix))
			.map((argument) -> argument.substring(prefix.length()))
			.findFirst()
			.orElseThrow();
	}

	private static void close(String url, Path report) {
		try (Connection connection = DriverManager.getConnection(url, "postgres", "")) {
			Files.writeString(report, connection.isValid(5) ? CLOSED_WITH_DATABASE : "not valid");
		}
		catch (SQLException | IOException ex) {
			System.out.println("Closed without the database: " + ex);
		}
	}

}
