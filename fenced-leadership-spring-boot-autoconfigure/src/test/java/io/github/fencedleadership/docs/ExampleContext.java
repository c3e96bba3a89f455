package io.github.fencedleadership.docs;

import org.springframework.context.SmartLifecycle;
import org.springframework.jdbc.core.simple.JdbcClient;

import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.election.Leadership;
import io.github.fencedleadership.fencing.FencingGuard;
import io.github.fencedleadership.jdbc.FencedTransactionTemplate;

/**
 * What the examples of the documentation use without showing it. Only compiled against.
 */
@SuppressWarnings("NullAway")
public abstract class ExampleContext {

	protected JdbcClient jdbc;

	protected LeaderElector elector;

	protected Leadership leadership;

	protected FencingGuard guard;

	protected FencedTransactionTemplate fencedTransactionTemplate;

	protected SmartLifecycle adapter;

	protected Outbox outbox;

	protected Ledger ledger;

	protected Invoices invoices;

	public abstract void append(String entry);

	/**
	 * Something with an outbox.
	 */
	public interface Outbox {

		void sendNext();

		void deleteOld();

	}

	/**
	 * Something with a ledger.
	 */
	public interface Ledger {

		void append(String entry);

		void post(LedgerEvent event);

		void postNext();

		void summarize();

		long balance();

	}

	/**
	 * Something with invoices.
	 */
	public interface Invoices {

		void sendAll();

	}

	/**
	 * Something that happened to a ledger.
	 */
	public record LedgerEvent() {

	}

}
