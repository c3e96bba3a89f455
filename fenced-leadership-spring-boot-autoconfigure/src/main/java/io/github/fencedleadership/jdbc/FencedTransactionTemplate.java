package io.github.fencedleadership.jdbc;

import java.util.Objects;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionCallback;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.fencing.FencingGuard;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.NoFencingTokenException;

/**
 * Runs code in a transaction that is fenced: a {@link TransactionTemplate} that has the
 * fencing token checked before anything else. <pre class="code">
 * this.fenced.executeWithoutResult("ledger", (status) -&gt; this.ledger.book(entry));
 * </pre>
 * <p>
 * The token is that of the innermost term that the calling thread acts in, unless it is
 * given. Without one the code is not run: a write is never let through unfenced. The
 * check is part of the transaction, so that both commit or neither does. If it refuses,
 * the code is not run and the transaction rolls back, also one that was joined.
 * <p>
 * Like that of a {@code TransactionTemplate}, a transaction is joined if there is one,
 * unless the definition says otherwise, and rolls back for any exception. Outside of a
 * transaction, the check is {@linkplain FencingGuard#prepare prepared} before one begins;
 * inside of one it cannot be, so that the first write of a term to a resource may have to
 * be tried again at isolation levels above READ COMMITTED.
 * <p>
 * Non-guarantee: what the code does outside of the transaction is not fenced.
 * <p>
 * Thread-safe.
 */
public class FencedTransactionTemplate {

	private final TransactionTemplate transactionTemplate;

	private final FencingGuard guard;

	/**
	 * Create a template with the defaults of a transaction.
	 * @param transactionManager begins, commits and rolls back; for the
	 * {@code DataSource} that the guard works on
	 * @param guard checks the tokens
	 */
	public FencedTransactionTemplate(PlatformTransactionManager transactionManager, FencingGuard guard) {
		this(transactionManager, guard, new DefaultTransactionDefinition());
	}

	/**
	 * Create a template.
	 * @param transactionManager begins, commits and rolls back; for the
	 * {@code DataSource} that the guard works on
	 * @param guard checks the tokens
	 * @param definition what transactions are like: not read-only, and with a propagation
	 * that makes sure that there is one
	 */
	public FencedTransactionTemplate(PlatformTransactionManager transactionManager, FencingGuard guard,
			TransactionDefinition definition) {
		Objects.requireNonNull(transactionManager, "'transactionManager' must not be null");
		this.guard = Objects.requireNonNull(guard, "'guard' must not be null");
		if (definition.isReadOnly()) {
			throw new IllegalArgumentException("A fenced transaction must not be read-only: its check may write");
		}
		switch (definition.getPropagationBehavior()) {
			case TransactionDefinition.PROPAGATION_SUPPORTS, TransactionDefinition.PROPAGATION_NOT_SUPPORTED,
					TransactionDefinition.PROPAGATION_NEVER ->
				throw new IllegalArgumentException(
						"Propagation '%d' may run without a transaction, in which nothing can be fenced. Use REQUIRED, REQUIRES_NEW, NESTED or MANDATORY"
							.formatted(definition.getPropagationBehavior()));
			default -> {
			}
		}
		this.transactionTemplate = new TransactionTemplate(transactionManager, definition);
	}

	/**
	 * Run code in a fenced transaction of the current term.
	 * @param <T> the type of the result
	 * @param resource what is written to
	 * @param action the code
	 * @return what the code returned
	 * @throws NoFencingTokenException if the calling thread acts in no term
	 * @throws io.github.fencedleadership.fencing.StaleFencingTokenException if the term
	 * is known to be over
	 * @throws org.springframework.transaction.TransactionException if beginning,
	 * committing or rolling back failed
	 */
	public <T extends @Nullable Object> T execute(String resource, TransactionCallback<T> action) {
		return execute(resource, currentToken(resource), action);
	}

	/**
	 * Run code in a fenced transaction of a term.
	 * @param <T> the type of the result
	 * @param resource what is written to
	 * @param token the token of the term
	 * @param action the code
	 * @return what the code returned
	 * @throws io.github.fencedleadership.fencing.StaleFencingTokenException if the term
	 * is known to be over
	 * @throws org.springframework.transaction.TransactionException if beginning,
	 * committing or rolling back failed
	 */
	public <T extends @Nullable Object> T execute(String resource, FencingToken token, TransactionCallback<T> action) {
		Objects.requireNonNull(token, "'token' must not be null");
		if (!TransactionSynchronizationManager.isActualTransactionActive()) {
			this.guard.prepare(resource, token);
		}
		return this.transactionTemplate.execute((status) -> {
			if (TransactionSynchronizationManager.isCurrentTransactionReadOnly()) {
				throw new IllegalTransactionStateException(
						"A fenced write to '%s' needs a transaction that may write, and the one to be joined is read-only"
							.formatted(resource));
			}
			this.guard.check(resource, token);
			return action.doInTransaction(status);
		});
	}

	/**
	 * Run code without a result in a fenced transaction of the current term.
	 * @param resource what is written to
	 * @param action the code
	 * @throws NoFencingTokenException if the calling thread acts in no term
	 * @throws io.github.fencedleadership.fencing.StaleFencingTokenException if the term
	 * is known to be over
	 * @throws org.springframework.transaction.TransactionException if beginning,
	 * committing or rolling back failed
	 */
	public void executeWithoutResult(String resource, Consumer<TransactionStatus> action) {
		executeWithoutResult(resource, currentToken(resource), action);
	}

	/**
	 * Run code without a result in a fenced transaction of a term.
	 * @param resource what is written to
	 * @param token the token of the term
	 * @param action the code
	 * @throws io.github.fencedleadership.fencing.StaleFencingTokenException if the term
	 * is known to be over
	 * @throws org.springframework.transaction.TransactionException if beginning,
	 * committing or rolling back failed
	 */
	public void executeWithoutResult(String resource, FencingToken token, Consumer<TransactionStatus> action) {
		execute(resource, token, (status) -> {
			action.accept(status);
			return true;
		});
	}

	private static FencingToken currentToken(String resource) {
		return FencingToken.current().orElseThrow(() -> new NoFencingTokenException(resource, null));
	}

}
