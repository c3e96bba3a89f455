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

	private final Map<Mark, FencingToken> marks = new ConcurrentHashMap<>();

	private final Function<String, OptionalLong> newestToken;

	/**
	 * Create a guard that sees no leases.
	 */
	public InMemoryFencingGuard() {
		this((role) -> OptionalLong.empty());
	}

	/**
	 * Create a guard that sees leases.
	 * @param newestToken from a role of this application to the token of its newest term,
	 * empty if it is not known
	 */
	public InMemoryFencingGuard(Function<String, OptionalLong> newestToken) {
		this.newestToken = Objects.requireNonNull(newestToken, "'newestToken' must not be null");
	}

	@Override
	public void check(String resource, FencingToken token) {
		Resources.validate(resource);
		OptionalLong newest = (token.namespace() == null) ? this.newestToken.apply(token.role()) : OptionalLong.empty();
		if (newest.isPresent()) {
			checkAgainstLease(resource, token, newest.getAsLong());
		}
		FencingToken mark = this.marks.merge(new Mark(resource, token.qualifiedRole()), token,
				InMemoryFencingGuard::higher);
		if (mark.value() > token.value()) {
			throw new StaleFencingTokenException(resource, token, mark.value());
		}
	}

	private static FencingToken higher(FencingToken mark, FencingToken token) {
		return (token.value() > mark.value()) ? token : mark;
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
	 * @param role the role, {@linkplain FencingToken#qualifiedRole() qualified} by its
	 * namespace if that is another one than the application's own
	 * @return the token, {@code null} if none was accepted
	 */
	public @Nullable FencingToken highestAccepted(String resource, String role) {
		return this.marks.get(new Mark(resource, role));
	}

	private record Mark(String resource, String role) {

	}

}
