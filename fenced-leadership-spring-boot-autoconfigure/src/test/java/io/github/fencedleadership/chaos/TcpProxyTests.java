package io.github.fencedleadership.chaos;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import io.github.fencedleadership.chaos.TcpProxy.Loss;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link TcpProxy}, in front of a server that answers what it is sent.
 */
@Timeout(60)
class TcpProxyTests {

	private static final int NO_ANSWER_WITHIN = 300;

	private final Queue<String> received = new ConcurrentLinkedQueue<>();

	private ServerSocket server;

	private TcpProxy proxy;

	@BeforeEach
	void start() throws IOException {
		this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
		Thread accept = new Thread(() -> {
			while (true) {
				try {
					Socket socket = this.server.accept();
					Thread echo = new Thread(() -> echo(socket), "echo");
					echo.setDaemon(true);
					echo.start();
				}
				catch (IOException ex) {
					return;
				}
			}
		}, "accept");
		accept.setDaemon(true);
		accept.start();
		this.proxy = new TcpProxy(new InetSocketAddress(this.server.getInetAddress(), this.server.getLocalPort()));
	}

	@AfterEach
	void stop() throws IOException {
		this.proxy.close();
		this.server.close();
	}

	@Test
	void letsEverythingThrough() throws IOException {
		try (Socket socket = connect()) {
			assertThat(ask(socket, "hello")).isEqualTo("hello");
		}
	}

	@Test
	void delays() throws IOException {
		try (Socket socket = connect()) {
			this.proxy.setDelay(Duration.ofMillis(20));
			assertThat(ask(socket, "hello")).isEqualTo("hello");
		}
	}

	@Test
	void connectionStaysDeadAfterBlackhole() throws IOException {
		try (Socket old = connect()) {
			assertThat(ask(old, "hello")).isEqualTo("hello");
			this.proxy.setBlackhole(true);
			assertNoAnswer(old, "lost");
			try (Socket fresh = connect()) {
				assertNoAnswer(fresh, "lost, too");
			}
			this.proxy.setBlackhole(false);
			assertNoAnswer(old, "lost still");
			try (Socket fresh = connect()) {
				assertThat(ask(fresh, "again")).isEqualTo("again");
			}
		}
		assertThat(this.received).containsExactly("hello", "again");
	}

	@Test
	void breaksConnections() throws IOException {
		try (Socket socket = connect()) {
			assertThat(ask(socket, "hello")).isEqualTo("hello");
			this.proxy.cut();
			assertThatExceptionOfType(SocketException.class).isThrownBy(() -> ask(socket, "broken"));
		}
	}

	@Test
	void losesTheReplyToWhatWasReceived() throws IOException {
		try (Socket socket = connect()) {
			this.proxy.lose(Loss.REPLY);
			assertThatExceptionOfType(SocketException.class).isThrownBy(() -> ask(socket, "done"));
		}
		assertThat(this.received).containsExactly("done");
		assertThat(this.proxy.lost()).isEqualTo(1);
		try (Socket socket = connect()) {
			assertThat(ask(socket, "again")).isEqualTo("again");
		}
	}

	@Test
	void losesTheReplyToACommitOnly() throws IOException {
		for (String commit : new String[] { "C\0\0\0COMMIT\0", "\7\0\0\0\3COMMIT" }) {
			int before = this.proxy.lost();
			try (Socket socket = connect()) {
				this.proxy.lose(Loss.COMMIT);
				assertThat(ask(socket, "READ COMMITTED")).isEqualTo("READ COMMITTED");
				assertThatExceptionOfType(SocketException.class).isThrownBy(() -> ask(socket, commit));
			}
			assertThat(this.proxy.lost()).isEqualTo(before + 1);
			assertThat(this.received).contains(commit);
		}
	}

	@Test
	void leadsNewConnectionsToAnotherTarget() throws IOException {
		this.proxy.setTarget(new InetSocketAddress(InetAddress.getLoopbackAddress(), ChaosCluster.freePort()));
		try (Socket socket = connect()) {
			assertThatExceptionOfType(SocketException.class).isThrownBy(() -> ask(socket, "nobody there"));
		}
	}

	private Socket connect() throws IOException {
		return new Socket(InetAddress.getLoopbackAddress(), this.proxy.port());
	}

	private static String ask(Socket socket, String request) throws IOException {
		socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
		byte[] reply = socket.getInputStream().readNBytes(request.length());
		if (reply.length < request.length()) {
			throw new SocketException("The connection was closed");
		}
		return new String(reply, StandardCharsets.ISO_8859_1);
	}

	private static void assertNoAnswer(Socket socket, String request) throws IOException {
		socket.setSoTimeout(NO_ANSWER_WITHIN);
		assertThatExceptionOfType(SocketTimeoutException.class).isThrownBy(() -> ask(socket, request));
	}

	private void echo(Socket socket) {
		byte[] chunk = new byte[1024];
		try (socket) {
			for (int length = socket.getInputStream().read(chunk); length >= 0; length = socket.getInputStream()
				.read(chunk)) {
				this.received.add(new String(chunk, 0, length, StandardCharsets.ISO_8859_1));
				socket.getOutputStream().write(chunk, 0, length);
			}
		}
		catch (IOException ex) {
			// The proxy has broken the connection.
		}
	}

}
