package io.github.fencedleadership.jdbc;

import java.io.IOException;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabase;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseBuilder;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseType;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.fencing.FencingContext;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.NoFencingTokenException;
import io.github.fencedleadership.fencing.RecordingFencingGuard;
import io.github.fencedleadership.fencing.StaleFencingTokenException;
import io.github.fencedleadership.fencing.TestTerm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link FencedTransactionTemplate}.
 */
class FencedTransactionTemplateTests {

	private final EmbeddedDatabase database = new EmbeddedDatabaseBuilder().generateUniqueName(true)
		.setType(EmbeddedDatabaseType.H2)
		.build();

	private final JdbcTemplate jdbc = new JdbcTemplate(this.database);

	private final CountingTransactionManager transactionManager = new CountingTransactionManager(this.database);

	private final RecordingFencingGuard guard = new RecordingFencingGuard();

	private final FencedTransactionTemplate template = new FencedTransactionTemplate(this.transactionManager,
			this.guard);

	private final TransactionTemplate plain = new TransactionTemplate(this.transactionManager);

	FencedTransactionTemplateTests() {
		this.jdbc.execute("CREATE TABLE ledger (entry VARCHAR(20) PRIMARY KEY)");
	}

	@AfterEach
	void shutDown() {
		this.database.shutdown();
	}

	@Test
	void checkIsPreparedOutsideAndMadeInsideOfTheTransactionBeforeTheCode() {
		try (FencingContext.Scope scope = new TestTerm("reports", 3).enter()) {
			String result = this.template.execute("ledger", (status) -> {
				this.guard.record("code");
				book("a");
				return "booked";
			});
			assertThat(result).isEqualTo("booked");
		}
		assertThat(this.guard.events()).containsExactly("prepare ledger reports#3 outside",
				"check ledger reports#3 inside", "code inside");
		assertThat(this.transactionManager.begun()).isOne();
		assertThat(entries()).containsExactly("a");
	}

	@Test
	void codeIsNotRunOutsideOfATerm() {
		assertThatExceptionOfType(NoFencingTokenException.class)
			.isThrownBy(() -> this.template.executeWithoutResult("ledger", (status) -> book("a")))
			.withMessageContaining("A write to 'ledger' was refused")
			.withMessageContaining("@FencedLeader");
		assertThat(this.guard.events()).isEmpty();
		assertThat(this.transactionManager.begun()).isZero();
		assertThat(entries()).isEmpty();
	}

	@Test
	void codeIsNotRunOnceTheWorkOfTheTermHasEnded() {
		TestTerm term = new TestTerm("reports", 3);
		try (FencingContext.Scope scope = term.enter()) {
			term.end();
			assertThatExceptionOfType(NoFencingTokenException.class)
				.isThrownBy(() -> this.template.execute("ledger", (status) -> "booked"));
		}
	}

	@Test
	void tokenMayBeGiven() {
		FencingToken token = new FencingToken("reports", 5);
		this.template.executeWithoutResult("ledger", token, (status) -> book("a"));
		assertThat(this.template.<Integer>execute("ledger", token, (status) -> 7)).isEqualTo(7);
		assertThat(this.guard.events()).contains("check ledger reports#5 inside");
		assertThat(entries()).containsExactly("a");
	}

	@Test
	void staleTokenIsRefusedBeforeTheCodeAndRollsBack() {
		this.guard.check("ledger", new FencingToken("reports", 4));
		try (FencingContext.Scope scope = new TestTerm("reports", 3).enter()) {
			assertThatExceptionOfType(StaleFencingTokenException.class)
				.isThrownBy(() -> this.template.executeWithoutResult("ledger", (status) -> book("a")));
		}
		assertThat(this.transactionManager.rolledBack()).isOne();
		assertThat(entries()).isEmpty();
	}

	@Test
	void transactionIsJoinedWithoutPreparation() {
		try (FencingContext.Scope scope = new TestTerm("reports", 3).enter()) {
			this.plain.executeWithoutResult((outer) -> {
				book("a");
				this.template.executeWithoutResult("ledger", (status) -> {
					assertThat(status.isNewTransaction()).isFalse();
					book("b");
				});
				outer.setRollbackOnly();
			});
		}
		assertThat(this.guard.events()).containsExactly("check ledger reports#3 inside");
		assertThat(this.transactionManager.begun()).isOne();
		assertThat(entries()).isEmpty();
	}

	@Test
	void staleTokenRollsBackTheJoinedTransactionEvenIfItsOwnerCarriesOn() {
		this.guard.check("ledger", new FencingToken("reports", 4));
		try (FencingContext.Scope scope = new TestTerm("reports", 3).enter()) {
			assertThatExceptionOfType(UnexpectedRollbackException.class)
				.isThrownBy(() -> this.plain.executeWithoutResult((outer) -> {
					book("a");
					assertThatExceptionOfType(StaleFencingTokenException.class)
						.isThrownBy(() -> this.template.executeWithoutResult("ledger", (status) -> book("b")));
				}));
		}
		assertThat(entries()).isEmpty();
	}

	@Test
	void definitionIsUsed() {
		DefaultTransactionDefinition definition = new DefaultTransactionDefinition(
				TransactionDefinition.PROPAGATION_REQUIRES_NEW);
		FencedTransactionTemplate requiresNew = new FencedTransactionTemplate(this.transactionManager, this.guard,
				definition);
		try (FencingContext.Scope scope = new TestTerm("reports", 3).enter()) {
			this.plain.executeWithoutResult((outer) -> {
				requiresNew.executeWithoutResult("ledger", (status) -> book("a"));
				outer.setRollbackOnly();
			});
		}
		assertThat(this.guard.events()).containsExactly("check ledger reports#3 inside");
		assertThat(this.transactionManager.begun()).isEqualTo(2);
		assertThat(entries()).containsExactly("a");
	}

	@Test
	void exceptionOfTheCodeRollsBack() {
		try (FencingContext.Scope scope = new TestTerm("reports", 3).enter()) {
			assertThatIllegalStateException()
				.isThrownBy(() -> this.template.executeWithoutResult("ledger", (status) -> {
					book("a");
					throw new IllegalStateException("The code fails on purpose", new IOException());
				}));
		}
		assertThat(entries()).isEmpty();
	}

	@Test
	void readOnlyTransactionOfACallerIsRefusedBeforeTheCheck() {
		this.plain.setReadOnly(true);
		try (FencingContext.Scope scope = new TestTerm("reports", 3).enter()) {
			assertThatExceptionOfType(IllegalTransactionStateException.class)
				.isThrownBy(() -> this.plain.executeWithoutResult(
						(outer) -> this.template.executeWithoutResult("ledger", (status) -> book("a"))))
				.withMessageContaining("'ledger'")
				.withMessageContaining("read-only");
		}
		assertThat(this.guard.events()).isEmpty();
	}

	@Test
	void readOnlyDefinitionIsRefused() {
		DefaultTransactionDefinition definition = new DefaultTransactionDefinition();
		definition.setReadOnly(true);
		assertThatIllegalArgumentException()
			.isThrownBy(() -> new FencedTransactionTemplate(this.transactionManager, this.guard, definition))
			.withMessageContaining("must not be read-only");
	}

	@ParameterizedTest
	@ValueSource(ints = { TransactionDefinition.PROPAGATION_SUPPORTS, TransactionDefinition.PROPAGATION_NOT_SUPPORTED,
			TransactionDefinition.PROPAGATION_NEVER })
	void propagationThatNeedsNoTransactionIsRefused(int propagation) {
		assertThatIllegalArgumentException()
			.isThrownBy(() -> new FencedTransactionTemplate(this.transactionManager, this.guard,
					new DefaultTransactionDefinition(propagation)))
			.withMessageContaining("may run without a transaction");
	}

	private void book(String entry) {
		this.jdbc.update("INSERT INTO ledger VALUES (?)", entry);
	}

	private List<String> entries() {
		return this.jdbc.queryForList("SELECT entry FROM ledger ORDER BY entry", String.class);
	}

}
