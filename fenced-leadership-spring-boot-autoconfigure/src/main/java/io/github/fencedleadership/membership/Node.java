package io.github.fencedleadership.membership;

import java.time.Instant;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

/**
 * One running application (context), as it reports itself.
 *
 * @param id the owner id: {@code <name>#<incarnation>}, unique to this start
 * @param host the name of the host, for people to read
 * @param pid the id of the process
 * @param version the version of the application, {@code null} if not known
 * @param startedAt when the application was started, by the node's own clock; for people
 * to read, nothing is decided by it
 * @param lastHeartbeat the last sign of life, by the registry's clock
 */
public record Node(String id, String host, long pid, @Nullable String version, Instant startedAt,
		Instant lastHeartbeat) {

	/**
	 * The longest owner id that is accepted.
	 */
	public static final int MAX_ID_LENGTH = 150;

	/**
	 * The longest host name and version that are kept; longer ones are cut off.
	 */
	public static final int MAX_TEXT_LENGTH = 255;

	public Node {
		Objects.requireNonNull(id, "'id' must not be null");
		Objects.requireNonNull(host, "'host' must not be null");
		Objects.requireNonNull(startedAt, "'startedAt' must not be null");
		Objects.requireNonNull(lastHeartbeat, "'lastHeartbeat' must not be null");
		if (id.isEmpty() || id.length() > MAX_ID_LENGTH) {
			throw new IllegalArgumentException(
					"Node id '%s' must have 1 to %d characters".formatted(id, MAX_ID_LENGTH));
		}
		host = cut(host);
		version = (version != null) ? cut(version) : null;
	}

	private static String cut(String text) {
		return (text.length() <= MAX_TEXT_LENGTH) ? text : text.substring(0, MAX_TEXT_LENGTH);
	}

	/**
	 * Return this node with another last sign of life.
	 * @param lastHeartbeat the instant, by the registry's clock
	 * @return the node
	 */
	public Node withLastHeartbeat(Instant lastHeartbeat) {
		return new Node(this.id, this.host, this.pid, this.version, this.startedAt, lastHeartbeat);
	}

}
