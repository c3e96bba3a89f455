package io.github.fencedleadership.election;

import java.util.OptionalLong;

/**
 * The state of one role on one node. Immutable; instants and durations are nanoseconds of
 * the node's monotonic clock.
 */
sealed interface RoleState {

	/**
	 * The id of a request that no request has.
	 */
	long NO_REQUEST = 0;

	/**
	 * An instant that never comes.
	 */
	long NEVER = Long.MAX_VALUE;

	Memory memory();

	RoleState withMemory(Memory memory);

	/**
	 * When something is to be sent to the store, unless it was before.
	 * @return the instant
	 */
	default long due() {
		return NEVER;
	}

	/**
	 * From when on it may be sent along if something else is sent anyway. This is what
	 * brings all roles of a node into one rhythm, and so into one statement.
	 * @return the instant, not after {@link #due()}
	 */
	default long earliest() {
		return due();
	}

	/**
	 * The request that has not been answered.
	 * @return its id, {@link #NO_REQUEST} if there is none
	 */
	default long pending() {
		return NO_REQUEST;
	}

	/**
	 * When something is to happen without the store.
	 * @return the instant
	 */
	default long timer() {
		return NEVER;
	}

	/**
	 * What is remembered from one term to the next.
	 *
	 * @param wanted whether the node is to contend for the role
	 * @param highestSeen the highest token of the role that any answer has shown
	 * @param highestOwn the highest token that was granted to this node: a term with it,
	 * or with a lower one, is over and is never entered again
	 * @param failures how many terms in a row ended through their work's fault
	 */
	record Memory(boolean wanted, long highestSeen, long highestOwn, int failures) {

		Memory withWanted(boolean wanted) {
			return new Memory(wanted, this.highestSeen, this.highestOwn, this.failures);
		}

		Memory withSeen(long token) {
			return (token <= this.highestSeen) ? this : new Memory(this.wanted, token, this.highestOwn, this.failures);
		}

		Memory withOwn(long token) {
			return new Memory(this.wanted, Math.max(this.highestSeen, token), Math.max(this.highestOwn, token),
					this.failures);
		}

		Memory withFailures(int failures) {
			return new Memory(this.wanted, this.highestSeen, this.highestOwn, failures);
		}

	}

	/**
	 * Does not contend, and holds nothing.
	 */
	record Stopped(Memory memory) implements RoleState {

		@Override
		public RoleState withMemory(Memory memory) {
			return new Stopped(memory);
		}

	}

	/**
	 * Contends, or waits for the answer to its last attempt before it stops.
	 *
	 * @param sendAt when to ask next; while a request is pending, when it was sent, or
	 * later if there has been a reason to ask again since
	 * @param uncertain whether the outcome of an attempt is unknown: there may be a lease
	 * in this node's name
	 * @param pending the request that has not been answered
	 */
	record Standby(Memory memory, long sendFrom, long sendAt, boolean uncertain, long pending) implements RoleState {

		static Standby from(Memory memory, long now) {
			return new Standby(memory, now, now, false, NO_REQUEST);
		}

		/**
		 * Ask at once, or as soon as what is pending has been answered.
		 */
		Standby dueAt(long now) {
			return new Standby(this.memory, now, now, this.uncertain, this.pending);
		}

		@Override
		public long due() {
			return (this.pending == NO_REQUEST) ? this.sendAt : NEVER;
		}

		@Override
		public long earliest() {
			return (this.pending == NO_REQUEST) ? this.sendFrom : NEVER;
		}

		@Override
		public RoleState withMemory(Memory memory) {
			return new Standby(memory, this.sendFrom, this.sendAt, this.uncertain, this.pending);
		}

	}

	/**
	 * Leaves the role to other nodes for a while.
	 */
	record BackingOff(Memory memory, long until) implements RoleState {

		@Override
		public long timer() {
			return this.until;
		}

		@Override
		public RoleState withMemory(Memory memory) {
			return new BackingOff(memory, this.until);
		}

	}

	/**
	 * Leads.
	 *
	 * @param deadline until when the lease is certainly held
	 */
	record Leading(Memory memory, long token, long grantedAt, long deadline, long sendFrom, long sendAt,
			long pending) implements RoleState {

		@Override
		public long due() {
			return (this.pending == NO_REQUEST) ? this.sendAt : NEVER;
		}

		@Override
		public long earliest() {
			return (this.pending == NO_REQUEST) ? this.sendFrom : NEVER;
		}

		@Override
		public long timer() {
			return this.deadline;
		}

		Leading withPending(long pending) {
			return new Leading(this.memory, this.token, this.grantedAt, this.deadline, this.sendFrom, this.sendAt,
					pending);
		}

		Leading retryAt(long due) {
			return new Leading(this.memory, this.token, this.grantedAt, this.deadline, due, due, NO_REQUEST);
		}

		@Override
		public RoleState withMemory(Memory memory) {
			return new Leading(memory, this.token, this.grantedAt, this.deadline, this.sendFrom, this.sendAt,
					this.pending);
		}

	}

	/**
	 * The term is over, its work is not.
	 *
	 * @param renewing whether the lease is still held and renewed meanwhile
	 * @param leaseGone whether the store has said that the lease is no longer this node's
	 * @param drainUntil until when the lease is renewed at most
	 * @param holdOff for how long to leave the role to others afterwards
	 */
	record Draining(Memory memory, long token, RevocationReason reason, long deadline, boolean renewing,
			boolean leaseGone, long drainUntil, long holdOff, long sendAt, long pending) implements RoleState {

		@Override
		public long due() {
			return (this.renewing && this.pending == NO_REQUEST) ? this.sendAt : NEVER;
		}

		@Override
		public long timer() {
			return this.renewing ? Math.min(this.deadline, this.drainUntil) : NEVER;
		}

		Draining withPending(long pending) {
			return new Draining(this.memory, this.token, this.reason, this.deadline, this.renewing, this.leaseGone,
					this.drainUntil, this.holdOff, this.sendAt, pending);
		}

		Draining renewed(long deadline, long due) {
			return new Draining(this.memory, this.token, this.reason, deadline, this.renewing, this.leaseGone,
					this.drainUntil, this.holdOff, due, NO_REQUEST);
		}

		Draining letLapse(boolean leaseGone) {
			return new Draining(this.memory, this.token, this.reason, this.deadline, false, leaseGone, this.drainUntil,
					this.holdOff, this.sendAt, this.pending);
		}

		@Override
		public RoleState withMemory(Memory memory) {
			return new Draining(memory, this.token, this.reason, this.deadline, this.renewing, this.leaseGone,
					this.drainUntil, this.holdOff, this.sendAt, this.pending);
		}

	}

	/**
	 * The work of the term has ended; its lease is given back.
	 *
	 * @param token the token of the term, empty if an attempt's outcome is unknown and
	 * there may be a term
	 * @param giveUpAt when the lease has certainly lapsed by itself
	 */
	record Releasing(Memory memory, OptionalLong token, long giveUpAt, long holdOff, long sendAt,
			long pending) implements RoleState {

		@Override
		public long due() {
			return (this.pending == NO_REQUEST) ? this.sendAt : NEVER;
		}

		Releasing withPending(long pending) {
			return new Releasing(this.memory, this.token, this.giveUpAt, this.holdOff, this.sendAt, pending);
		}

		Releasing retryAt(long due) {
			return new Releasing(this.memory, this.token, this.giveUpAt, this.holdOff, due, NO_REQUEST);
		}

		@Override
		public RoleState withMemory(Memory memory) {
			return new Releasing(memory, this.token, this.giveUpAt, this.holdOff, this.sendAt, this.pending);
		}

	}

}
