package io.github.fencedleadership.chaos;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The network between a node and its database. It lets everything through, until it is
 * told to do what networks do.
 */
final class TcpProxy implements AutoCloseable {

	private static final int CHUNK = 16 * 1024;

	/** The tag of a reply: what was asked for need not say what it is. */
	private static final String POSTGRES_COMMITTED = "COMMIT\0";

	/** A request, of which the reply says only that it was done. */
	private static final String MARIADB_COMMIT = "\u0003COMMIT";

	private final ServerSocket server;

	private final Set<Link> links = ConcurrentHashMap.newKeySet();

	private final AtomicInteger lost = new AtomicInteger();

	private volatile InetSocketAddress target;

	private volatile Duration delay = Duration.ZERO;

	private volatile boolean blackhole;

	private volatile Loss loss = Loss.NONE;

	TcpProxy(InetSocketAddress target) {
		this.target = target;
		try {
			this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		start("proxy-accept", this::accept);
	}

	int port() {
		return this.server.getLocalPort();
	}

	/**
	 * Lead new connections somewhere else. Those that there are stay.
	 * @param target the address
	 */
	void setTarget(InetSocketAddress target) {
		this.target = target;
	}

	/**
	 * Hold up each piece of data, in each direction, for a random time.
	 * @param delay for how long at most
	 */
	void setDelay(Duration delay) {
		this.delay = delay;
	}

	/**
	 * Let data vanish, and leave all connections open. Those that were open meanwhile
	 * never carry anything again, as after a firewall has forgotten them.
	 * @param blackhole whether to
	 */
	void setBlackhole(boolean blackhole) {
		this.blackhole = blackhole;
		if (blackhole) {
			this.links.forEach(Link::die);
		}
	}

	/**
	 * Break all connections.
	 */
	void cut() {
		this.links.forEach(Link::close);
	}

	/**
	 * Let one reply of the database vanish, and break its connection. What was asked for
	 * has been done.
	 * @param loss which
	 */
	void lose(Loss loss) {
		this.loss = loss;
	}

	/**
	 * Return how many replies have been lost.
	 * @return the number
	 */
	int lost() {
		return this.lost.get();
	}

	private void accept() {
		while (!this.server.isClosed()) {
			try {
				Socket client = this.server.accept();
				client.setTcpNoDelay(true);
				Link link = new Link(client);
				this.links.add(link);
				if (this.blackhole) {
					link.die();
				}
				link.start();
			}
			catch (IOException ex) {
				// It is closed, or the client is gone already.
			}
		}
	}

	@Override
	public void close() {
		try {
			this.server.close();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		cut();
	}

	private static void start(String name, Runnable task) {
		Thread thread = new Thread(task, name);
		thread.setDaemon(true);
		thread.start();
	}

	/**
	 * Which reply is lost.
	 */
	enum Loss {

		/** None. */
		NONE,

		/** The next one. */
		REPLY,

		/** The next one that acknowledges a commit. */
		COMMIT

	}

	/**
	 * One connection.
	 */
	private final class Link {

		private final Socket client;

		private final Socket database = new Socket();

		private volatile boolean dead;

		private volatile boolean committing;

		Link(Socket client) {
			this.client = client;
		}

		void start() {
			TcpProxy.start("proxy-requests", () -> {
				try {
					if (!this.dead) {
						this.database.setTcpNoDelay(true);
						this.database.connect(TcpProxy.this.target);
						TcpProxy.start("proxy-replies", () -> pump(this.database, this.client, true));
					}
				}
				catch (IOException ex) {
					close();
					return;
				}
				pump(this.client, this.database, false);
			});
		}

		private void pump(Socket from, Socket to, boolean reply) {
			byte[] chunk = new byte[CHUNK];
			try {
				InputStream in = from.getInputStream();
				for (int length = in.read(chunk); length >= 0; length = in.read(chunk)) {
					pause();
					if (this.dead) {
						continue;
					}
					if (!reply) {
						this.committing = text(chunk, length).endsWith(MARIADB_COMMIT);
					}
					else if (isLost(chunk, length)) {
						break;
					}
					OutputStream out = to.getOutputStream();
					out.write(chunk, 0, length);
					out.flush();
				}
			}
			catch (IOException ex) {
				// One side is gone, and so is the other.
			}
			// A dead connection is not told of the end of its other side.
			if (!this.dead || !reply) {
				close();
			}
		}

		private void pause() {
			long nanos = TcpProxy.this.delay.toNanos();
			if (nanos > 0) {
				try {
					TimeUnit.NANOSECONDS.sleep(ThreadLocalRandom.current().nextLong(nanos));
				}
				catch (InterruptedException ex) {
					Thread.currentThread().interrupt();
				}
			}
		}

		private boolean isLost(byte[] chunk, int length) {
			Loss wanted = TcpProxy.this.loss;
			boolean commit = this.committing || text(chunk, length).contains(POSTGRES_COMMITTED);
			if (wanted == Loss.NONE || (wanted == Loss.COMMIT && !commit)) {
				return false;
			}
			synchronized (TcpProxy.this) {
				if (TcpProxy.this.loss != wanted) {
					return false;
				}
				TcpProxy.this.loss = Loss.NONE;
			}
			TcpProxy.this.lost.incrementAndGet();
			return true;
		}

		private static String text(byte[] chunk, int length) {
			return new String(chunk, 0, length, StandardCharsets.ISO_8859_1);
		}

		void die() {
			this.dead = true;
		}

		/** With a reset, so that nobody takes it for an orderly end. */
		void close() {
			TcpProxy.this.links.remove(this);
			for (Socket socket : new Socket[] { this.client, this.database }) {
				try {
					socket.setSoLinger(true, 0);
					socket.close();
				}
				catch (IOException ex) {
					// It is closed.
				}
			}
		}

	}

}
