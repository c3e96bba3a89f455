package io.github.fencedleadership.fencing;

/**
 * A term that a test acts in.
 */
public final class TestTerm implements FencingContext.Bearer {

	private final FencingToken token;

	private volatile boolean active = true;

	public TestTerm(String role, long token) {
		this(new FencingToken(role, token));
	}

	public TestTerm(FencingToken token) {
		this.token = token;
	}

	public FencingContext.Scope enter() {
		return FencingContext.enter(this);
	}

	public void end() {
		this.active = false;
	}

	@Override
	public FencingToken fencingToken() {
		return this.token;
	}

	@Override
	public boolean isActive() {
		return this.active;
	}

}
