package io.github.fencedleadership.web;

import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;

import io.github.fencedleadership.fencing.FencingContext;
import io.github.fencedleadership.fencing.FencingToken;

/**
 * The term of a caller, in whose name the code that handles its request acts. Lasts until
 * the request has been handled, asynchronously or not.
 */
final class ReceivedTerm implements FencingContext.Bearer, AsyncListener {

	private final FencingToken token;

	private volatile boolean active = true;

	ReceivedTerm(FencingToken token) {
		this.token = token;
	}

	void end() {
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

	@Override
	public void onComplete(AsyncEvent event) {
		end();
	}

	@Override
	public void onTimeout(AsyncEvent event) {
		// Completed by whoever handles the timeout
	}

	@Override
	public void onError(AsyncEvent event) {
		// Completed by whoever handles the error
	}

	@Override
	public void onStartAsync(AsyncEvent event) {
		// Asynchronous once more, which forgets listeners
		event.getAsyncContext().addListener(this);
	}

	@Override
	public String toString() {
		return "ReceivedTerm[" + this.token + "]";
	}

}
