package io.github.fencedleadership.fencing;

import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

/**
 * A {@link FencingGuard} in the memory of one process, for tests and single-process use.
 * It knows no transactions: a check says whether the token was current at that moment.
 * <p>
 * Thread-safe.
 */
public final class InMemoryFencingGuard implements FencingGuard {

	private final Map<Mark, Long> marks = new ConcurrentHashMap<>();

	private final Function<String, OptionalLong> newestToken;

	/**
	 * Create a guard that sees no leases.
	 */
	public InMemoryFencingGuard() {
		this((role) -> OptionalLong.empty());
	}

	/**
	 * Create a guard that sees leases.
	 * @param newestToken from a role to the token of its newest term, empty if it is not
	 * known
	 */
	public InMemoryFencingGuard(Function<String, OptionalLong> newestToken) {
		this.newestToken = Objects.requireNonNull(newestToken, "'newestToken' must not be null");
	}

	@Override
	public void check(String resource, FencingToken token) {
		Resources.validate(resource);
		OptionalLong newest = this.newestToken.apply(token.role());
		if (newest.isPresent()) {
			checkAgainstLease(resource, token, newest.getAsLong());
		}
		long mark = this.marks.merge(new Mark(resource, token.role()), token.value(), Math::max);
		if (mark > token.value()) {
			throw new StaleFencingTokenException(resource, token, mark);
		}
	}

	private static void checkAgainstLease(String resource, FencingToken token, long newest) {
		if (newest > token.value()) {
			throw new StaleFencingTokenException(resource, token, newest);
		}
		if (newest < token.value()) {
			throw new UnknownFencingTokenException(resource, token, newest);
		}
	}

	/**
	 * Return the highest token that was accepted.
	 * @param resource the resource
	 * @param role the role
	 * @return the token, {@code null} if none was accepted
	 */
	public @Nullable FencingToken highestAccepted(String resource, String role) {
		Long mark = this.marks.get(new Mark(resource, role));
		return (mark != null) ? new FencingToken(role, mark) : null;
	}

	private record Mark(String resource, String role) {

	}

}
