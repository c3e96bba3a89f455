package io.github.fencedleadership.sample.launcher;

import java.time.Clock;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * The last things that happened to the cluster.
 * <p>
 * Thread-safe.
 */
final class EventLog {

	private static final int MAX_EVENTS = 100;

	private final Clock clock;

	private final Deque<Event> events = new ArrayDeque<>();

	EventLog(Clock clock) {
		this.clock = clock;
	}

	synchronized void add(Kind kind, String text) {
		this.events.addFirst(new Event(this.clock.instant(), kind, text));
		while (this.events.size() > MAX_EVENTS) {
			this.events.removeLast();
		}
	}

	/**
	 * Return what happened.
	 * @return the events, the latest first
	 */
	synchronized List<Event> events() {
		return List.copyOf(this.events);
	}

	/**
	 * What an event is about.
	 */
	enum Kind {

		/** A process, or the job in it. */
		PROCESS,

		/** Who leads. */
		LEADERSHIP,

		/** A write that was refused. */
		REFUSAL,

		/** Something that was asked for and did not work. */
		FAILURE

	}

	/**
	 * Something that happened.
	 *
	 * @param at when it was seen
	 * @param kind what it is about
	 * @param text what people read
	 */
	record Event(Instant at, Kind kind, String text) {

	}

}
