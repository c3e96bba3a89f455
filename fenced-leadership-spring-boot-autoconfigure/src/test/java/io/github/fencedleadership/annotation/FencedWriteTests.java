package io.github.fencedleadership.annotation;

import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import java.util.function.Consumer;

import javax.sql.DataSource;

import org.junit.jupiter.api.Test;

import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.context.annotation.Scope;
import org.springframework.core.annotation.AliasFor;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseBuilder;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseType;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.transaction.support.TransactionTemplate;

import io.github.fencedleadership.annotation.FencedLeader.Mode;
import io.github.fencedleadership.fencing.FencingContext;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.NoFencingTokenException;
import io.github.fencedleadership.fencing.RecordingFencingGuard;
import io.github.fencedleadership.fencing.StaleFencingTokenException;
import io.github.fencedleadership.fencing.TestTerm;
import io.github.fencedleadership.jdbc.CountingTransactionManager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests of {@link FencedWrite @FencedWrite} methods that are accepted.
 */
class FencedWriteTests {

	private final RecordingFencingGuard guard = new RecordingFencingGuard();

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withUserConfiguration(FencedWriteConfiguration.class, DatabaseConfiguration.class)
		.withBean("guard", RecordingFencingGuard.class, () -> this.guard);

	// Alone

	@Test
	void checkIsPreparedOutsideAndMadeInsideOfTheTransactionBeforeTheBody() {
		run(Ledger.class, (context) -> {
			inTerm(3, () -> context.getBean(Ledger.class).book("a"));
			assertThat(this.guard.events()).containsExactly("prepare ledger reports#3 outside",
					"check ledger reports#3 inside", "body inside");
			assertThat(transactions(context).begun()).isOne();
			assertThat(transactions(context).committed()).isOne();
			assertThat(entries(context)).containsExactly("a");
		});
	}

	@Test
	void callOutsideOfATermFailsBeforeATransactionBegins() {
		run(Ledger.class, (context) -> {
			assertThatExceptionOfType(NoFencingTokenException.class)
				.isThrownBy(() -> context.getBean(Ledger.class).book("a"))
				.withMessageContaining("A write to 'ledger' was refused");
			assertThat(this.guard.events()).isEmpty();
			assertThat(transactions(context).begun()).isZero();
			assertThat(entries(context)).isEmpty();
		});
	}

	@Test
	void callAfterTheWorkOfTheTermHasEndedFails() {
		run(Ledger.class, (context) -> {
			TestTerm term = new TestTerm("reports", 3);
			try (FencingContext.Scope scope = term.enter()) {
				context.getBean(Ledger.class).book("a");
				term.end();
				assertThatExceptionOfType(NoFencingTokenException.class)
					.isThrownBy(() -> context.getBean(Ledger.class).book("b"));
			}
			assertThat(entries(context)).containsExactly("a");
		});
	}

	@Test
	void staleTokenIsRefusedAndTheBodyNotRun() {
		run(Ledger.class, (context) -> {
			inTerm(4, () -> context.getBean(Ledger.class).book("a"));
			assertThatExceptionOfType(StaleFencingTokenException.class)
				.isThrownBy(() -> inTerm(3, () -> context.getBean(Ledger.class).book("b")))
				.satisfies((ex) -> assertThat(ex.getNewerToken()).isEqualTo(4));
			assertThat(transactions(context).rolledBack()).isOne();
			assertThat(entries(context)).containsExactly("a");
		});
	}

	@Test
	void uncheckedExceptionRollsBackAndCheckedOneDoesNot() {
		run(Ledger.class, (context) -> {
			Ledger ledger = context.getBean(Ledger.class);
			assertThatIllegalStateException()
				.isThrownBy(() -> inTerm(3, () -> ledger.bookAndThrow("a", new IllegalStateException("on purpose"))));
			assertThatExceptionOfType(IOException.class)
				.isThrownBy(() -> inTerm(3, () -> ledger.bookAndThrow("b", new IOException("on purpose"))));
			assertThat(entries(context)).containsExactly("b");
		});
	}

	@Test
	void transactionOfTheCallerIsJoinedWithoutPreparation() {
		run(Ledger.class, (context) -> {
			inTerm(3, () -> template(context).executeWithoutResult((status) -> {
				context.getBean(Ledger.class).book("a");
				status.setRollbackOnly();
			}));
			assertThat(this.guard.events()).containsExactly("check ledger reports#3 inside", "body inside");
			assertThat(transactions(context).begun()).isOne();
			assertThat(entries(context)).isEmpty();
		});
	}

	@Test
	void readOnlyTransactionOfTheCallerIsRefusedBeforeTheCheck() {
		run(Ledger.class, (context) -> {
			TransactionTemplate readOnly = template(context);
			readOnly.setReadOnly(true);
			assertThatExceptionOfType(IllegalTransactionStateException.class)
				.isThrownBy(() -> inTerm(3,
						() -> readOnly.executeWithoutResult((status) -> context.getBean(Ledger.class).book("a"))))
				.withMessageContaining("'ledger.book()'")
				.withMessageContaining("read-only");
			assertThat(this.guard.events()).isEmpty();
		});
	}

	// With @Transactional

	@Test
	void transactionOfTheMethodsOwnLiesBetweenPreparationAndCheck() {
		run(TransactionalLedger.class, (context) -> {
			inTerm(3, () -> context.getBean(TransactionalLedger.class).book("a"));
			assertThat(this.guard.events()).containsExactly("prepare ledger reports#3 outside",
					"check ledger reports#3 inside", "body inside");
			assertThat(transactions(context).begun()).isOne();
			assertThat(entries(context)).containsExactly("a");
		});
	}

	@Test
	void transactionOfTheClassLiesBetweenPreparationAndCheck() {
		run(TransactionalClass.class, (context) -> {
			TransactionalClass ledger = context.getBean(TransactionalClass.class);
			assertThatExceptionOfType(IOException.class).isThrownBy(() -> inTerm(3, () -> ledger.bookAndThrow("a")));
			assertThat(this.guard.events()).containsExactly("prepare ledger reports#3 outside",
					"check ledger reports#3 inside", "body inside");
			assertThat(transactions(context).begun()).isOne();
			assertThat(entries(context)).isEmpty();
		});
	}

	@Test
	void rollbackRulesOfTheMethodsOwnTransactionAreRespected() {
		run(TransactionalLedger.class, (context) -> {
			TransactionalLedger ledger = context.getBean(TransactionalLedger.class);
			assertThatIllegalStateException().isThrownBy(() -> inTerm(3, () -> ledger.bookAndCommitAnyway("a")));
			assertThatExceptionOfType(IOException.class)
				.isThrownBy(() -> inTerm(3, () -> ledger.bookAndRollBackForChecked("b")));
			assertThat(entries(context)).containsExactly("a");
		});
	}

	@Test
	void refusedCheckRollsBackWhateverTheRulesSay() {
		run(TransactionalLedger.class, (context) -> {
			inTerm(4, () -> context.getBean(TransactionalLedger.class).book("a"));
			assertThatExceptionOfType(StaleFencingTokenException.class)
				.isThrownBy(() -> inTerm(3, () -> context.getBean(TransactionalLedger.class).bookAndCommitAnyway("b")));
			assertThat(transactions(context).committed()).isOne();
			assertThat(transactions(context).rolledBack()).isOne();
		});
	}

	@Test
	void bodyMayRollBackQuietly() {
		run(TransactionalLedger.class, (context) -> {
			inTerm(3, () -> context.getBean(TransactionalLedger.class).bookAndRollBackQuietly("a"));
			assertThat(entries(context)).isEmpty();
			assertThat(transactions(context).rolledBack()).isOne();
		});
	}

	@Test
	void newTransactionIsFencedAndNotThatOfTheCaller() {
		run(TransactionalLedger.class, (context) -> {
			inTerm(3, () -> template(context).executeWithoutResult((status) -> {
				insert(context, "outer");
				context.getBean(TransactionalLedger.class).bookInNewTransaction("inner");
				status.setRollbackOnly();
			}));
			assertThat(this.guard.events()).containsExactly("check ledger reports#3 inside", "body inside");
			assertThat(transactions(context).begun()).isEqualTo(2);
			assertThat(entries(context)).containsExactly("inner");
		});
	}

	@Test
	void refusedCheckInNewTransactionLeavesThatOfTheCallerAlone() {
		run(TransactionalLedger.class, (context) -> {
			inTerm(4, () -> context.getBean(TransactionalLedger.class).book("a"));
			inTerm(3, () -> template(context).executeWithoutResult((status) -> {
				insert(context, "outer");
				assertThatExceptionOfType(StaleFencingTokenException.class)
					.isThrownBy(() -> context.getBean(TransactionalLedger.class).bookInNewTransaction("inner"));
			}));
			assertThat(entries(context)).containsExactly("a", "outer");
		});
	}

	@Test
	void nestedTransactionRollsBackToItsSavepoint() {
		run(TransactionalLedger.class, (context) -> {
			TransactionalLedger ledger = context.getBean(TransactionalLedger.class);
			inTerm(3, () -> template(context).executeWithoutResult((status) -> {
				insert(context, "outer");
				ledger.bookNested("kept", false);
				assertThatIllegalStateException().isThrownBy(() -> ledger.bookNested("undone", true));
			}));
			assertThat(transactions(context).begun()).isOne();
			assertThat(entries(context)).containsExactly("kept", "outer");
		});
	}

	@Test
	void refusedCheckInNestedTransactionRollsBackToItsSavepoint() {
		run(TransactionalLedger.class, (context) -> {
			TransactionalLedger ledger = context.getBean(TransactionalLedger.class);
			inTerm(4, () -> ledger.book("a"));
			inTerm(3, () -> template(context).executeWithoutResult((status) -> {
				insert(context, "outer");
				assertThatExceptionOfType(StaleFencingTokenException.class)
					.isThrownBy(() -> ledger.bookNested("undone", false));
			}));
			assertThat(entries(context)).containsExactly("a", "outer");
		});
	}

	@Test
	void writeCalledFromATransactionalMethodJoinsItAndRollsAllOfItBackIfRefused() {
		this.contextRunner.withBean("ledger", Ledger.class)
			.withBean("caller", TransactionalCaller.class)
			.run((context) -> {
				TransactionalCaller caller = context.getBean(TransactionalCaller.class);
				inTerm(3, () -> caller.book("a"));
				assertThat(this.guard.events()).containsExactly("check ledger reports#3 inside", "body inside");
				assertThat(transactions(context).begun()).isOne();
				assertThat(entries(context)).containsExactly("a", "caller a");
				this.guard.check("ledger", new FencingToken("reports", 4));
				assertThatExceptionOfType(StaleFencingTokenException.class)
					.isThrownBy(() -> inTerm(3, () -> caller.book("b")));
				assertThat(entries(context)).containsExactly("a", "caller a");
			});
	}

	// Attributes

	@Test
	void roleChoosesAmongNestedTerms() {
		run(RoleLedger.class, (context) -> {
			RoleLedger ledger = context.getBean(RoleLedger.class);
			try (FencingContext.Scope outer = new TestTerm("reports", 3).enter();
					FencingContext.Scope inner = new TestTerm("cleanup", 8).enter()) {
				ledger.bookAsReports();
				ledger.bookAsInnermost();
			}
			assertThat(this.guard.events()).contains("check ledger reports#3 inside", "check other cleanup#8 inside");
			assertThatExceptionOfType(NoFencingTokenException.class).isThrownBy(() -> {
				try (FencingContext.Scope scope = new TestTerm("cleanup", 8).enter()) {
					ledger.bookAsReports();
				}
			}).withMessageContaining("of role 'reports'");
		});
	}

	@Test
	void roleOfAnotherNamespaceIsNotTheApplicationsOwn() {
		run(RoleLedger.class, (context) -> {
			RoleLedger ledger = context.getBean(RoleLedger.class);
			try (FencingContext.Scope scope = new TestTerm(new FencingToken("orders", "reports", 3)).enter()) {
				assertThatExceptionOfType(NoFencingTokenException.class).isThrownBy(ledger::bookAsReports);
				ledger.bookAsReportsOfOrders();
				ledger.bookAsInnermost();
			}
			assertThat(this.guard.events()).containsOnlyOnce("prepare ledger orders/reports#3 outside");
			// Tokens of the same role in another namespace are other tokens
			inTerm(1, ledger::bookAsReports);
		});
	}

	@Test
	void placeholdersAreResolvedAndAttributesOfMetaAnnotationsMerged() {
		this.contextRunner.withBean("ledger", ComposedLedger.class)
			.withPropertyValues("ledger.name=main-ledger", "ledger.role=cleanup")
			.run((context) -> {
				ComposedLedger ledger = context.getBean(ComposedLedger.class);
				try (FencingContext.Scope outer = new TestTerm("cleanup", 8).enter();
						FencingContext.Scope inner = new TestTerm("reports", 3).enter()) {
					ledger.placeholders();
					ledger.composed();
				}
				assertThat(this.guard.events()).contains("check main-ledger cleanup#8 inside",
						"check composed reports#3 inside");
			});
	}

	@Test
	void transactionManagerIsChosenByItsName() {
		this.contextRunner.withUserConfiguration(SecondDatabaseConfiguration.class)
			.withBean("ledger", NamedTransactionManagerLedger.class)
			.run((context) -> {
				NamedTransactionManagerLedger ledger = context.getBean(NamedTransactionManagerLedger.class);
				inTerm(3, ledger::book);
				inTerm(3, ledger::bookTransactional);
				assertThat(transactions(context).begun()).isZero();
				assertThat(context.getBean("second", CountingTransactionManager.class).begun()).isEqualTo(2);
			});
	}

	// Proxies

	@Test
	void gateIsOutsideOfTheFence() {
		FakeLeaderElector elector = new FakeLeaderElector();
		this.contextRunner.withUserConfiguration(FencedLeaderConfiguration.class)
			.withBean("leaderElector", FakeLeaderElector.class, () -> elector)
			.withBean(RoleSettingsResolver.class, () -> (role, declared) -> null)
			.withBean("ledger", GatedLedger.class)
			.run((context) -> {
				GatedLedger ledger = context.getBean(GatedLedger.class);
				ledger.book("skipped");
				assertThat(this.guard.events()).isEmpty();
				elector.lead("reports", 7);
				ledger.book("a");
				assertThat(this.guard.events()).containsExactly("prepare ledger reports#7 outside",
						"check ledger reports#7 inside", "body inside");
				assertThat(elector.events()).containsExactly("enter reports", "leave reports");
				assertThat(entries(context)).containsExactly("a");
			});
	}

	@Test
	void everyAttemptOfARetryIsFencedAnew() {
		this.contextRunner.withBean("ledger", FlakyLedger.class)
			.withBean("retry", RetryLikePostProcessor.class, () -> new RetryLikePostProcessor(FencedWrite.class))
			.run((context) -> {
				inTerm(3, () -> context.getBean(FlakyLedger.class).book());
				assertThat(this.guard.events()).containsExactly("prepare ledger reports#3 outside",
						"check ledger reports#3 inside", "prepare ledger reports#3 outside",
						"check ledger reports#3 inside");
				assertThat(transactions(context).rolledBack()).isOne();
				assertThat(transactions(context).committed()).isOne();
			});
	}

	@Test
	void jdkProxyIsFenced() {
		this.contextRunner.withPropertyValues("spring.aop.proxy-target-class=false")
			.withUserConfiguration(InterfaceBasedTransactions.class)
			.withBean("ledger", LedgerBehindInterface.class)
			.run((context) -> {
				Booking ledger = context.getBean(Booking.class);
				inTerm(3, () -> ledger.book("a"));
				inTerm(3, () -> ledger.bookTransactional("b"));
				assertThat(this.guard.events()).containsExactly("prepare ledger reports#3 outside",
						"check ledger reports#3 inside", "prepare ledger reports#3 outside",
						"check ledger reports#3 inside");
				assertThat(entries(context)).containsExactly("a", "b");
			});
	}

	@Test
	void prototypeIsFenced() {
		this.contextRunner.withUserConfiguration(PrototypeConfiguration.class).run((context) -> {
			Ledger first = context.getBean(Ledger.class);
			Ledger second = context.getBean(Ledger.class);
			assertThat(first).isNotSameAs(second);
			inTerm(3, () -> first.book("a"));
			inTerm(3, () -> second.book("b"));
			assertThat(this.guard.events()).filteredOn((event) -> event.startsWith("check")).hasSize(2);
			assertThatExceptionOfType(NoFencingTokenException.class).isThrownBy(() -> second.book("c"));
		});
	}

	@Test
	void methodsWithoutTheAnnotationAreNotFenced() {
		run(Ledger.class, (context) -> {
			context.getBean(Ledger.class).bookUnfenced("a");
			assertThat(this.guard.events()).containsExactly("body outside");
		});
	}

	private void run(Class<?> ledger, Consumer<ApplicationContext> test) {
		this.contextRunner.withBean("ledger", ledger).run((context) -> {
			assertThat(context).hasNotFailed();
			test.accept(context);
		});
	}

	private static void inTerm(long token, ThrowingRunnable code) {
		try (FencingContext.Scope scope = new TestTerm("reports", token).enter()) {
			code.run();
		}
		catch (RuntimeException ex) {
			throw ex;
		}
		catch (Exception ex) {
			throw sneak(ex);
		}
	}

	@SuppressWarnings("unchecked")
	private static <E extends Exception> RuntimeException sneak(Exception ex) throws E {
		throw (E) ex;
	}

	private static TransactionTemplate template(ApplicationContext context) {
		return new TransactionTemplate(transactions(context));
	}

	private static CountingTransactionManager transactions(ApplicationContext context) {
		return context.getBean("first", CountingTransactionManager.class);
	}

	private static void insert(ApplicationContext context, String entry) {
		context.getBean("jdbc", JdbcTemplate.class).update("INSERT INTO ledger VALUES (?)", entry);
	}

	private static List<String> entries(ApplicationContext context) {
		return context.getBean("jdbc", JdbcTemplate.class)
			.queryForList("SELECT entry FROM ledger ORDER BY entry", String.class);
	}

	@FunctionalInterface
	interface ThrowingRunnable {

		void run() throws Exception;

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement(proxyTargetClass = true)
	static class DatabaseConfiguration {

		@Bean(destroyMethod = "shutdown")
		@Primary
		DataSource dataSource() {
			return new EmbeddedDatabaseBuilder().generateUniqueName(true).setType(EmbeddedDatabaseType.H2).build();
		}

		@Bean
		@Primary
		JdbcTemplate jdbc(DataSource dataSource) {
			JdbcTemplate jdbc = new JdbcTemplate(dataSource);
			jdbc.execute("CREATE TABLE ledger (entry VARCHAR(20) PRIMARY KEY)");
			return jdbc;
		}

		@Bean
		@Primary
		CountingTransactionManager first(DataSource dataSource) {
			return new CountingTransactionManager(dataSource);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class SecondDatabaseConfiguration {

		@Bean
		CountingTransactionManager second() {
			return new CountingTransactionManager(
					new EmbeddedDatabaseBuilder().generateUniqueName(true).setType(EmbeddedDatabaseType.H2).build());
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement
	static class InterfaceBasedTransactions {

	}

	@Configuration(proxyBeanMethods = false)
	static class PrototypeConfiguration {

		@Bean
		@Scope("prototype")
		Ledger ledger(JdbcTemplate jdbc, RecordingFencingGuard guard) {
			return new Ledger(jdbc, guard);
		}

	}

	abstract static class AbstractLedger {

		private final JdbcTemplate jdbc;

		private final RecordingFencingGuard guard;

		AbstractLedger(JdbcTemplate jdbc, RecordingFencingGuard guard) {
			this.jdbc = jdbc;
			this.guard = guard;
		}

		void insert(String entry) {
			this.guard.record("body");
			this.jdbc.update("INSERT INTO ledger VALUES (?)", entry);
		}

	}

	static class Ledger extends AbstractLedger {

		Ledger(JdbcTemplate jdbc, RecordingFencingGuard guard) {
			super(jdbc, guard);
		}

		@FencedWrite("ledger")
		void book(String entry) {
			insert(entry);
		}

		@FencedWrite("ledger")
		void bookAndThrow(String entry, Exception exception) throws Exception {
			insert(entry);
			throw exception;
		}

		void bookUnfenced(String entry) {
			insert(entry);
		}

	}

	static class TransactionalLedger extends AbstractLedger {

		TransactionalLedger(JdbcTemplate jdbc, RecordingFencingGuard guard) {
			super(jdbc, guard);
		}

		@Transactional
		@FencedWrite("ledger")
		void book(String entry) {
			insert(entry);
		}

		@FencedWrite("ledger")
		@Transactional(noRollbackFor = RuntimeException.class)
		void bookAndCommitAnyway(String entry) {
			insert(entry);
			throw new IllegalStateException("The body fails on purpose");
		}

		@Transactional(rollbackFor = IOException.class)
		@FencedWrite("ledger")
		void bookAndRollBackForChecked(String entry) throws IOException {
			insert(entry);
			throw new IOException("The body fails on purpose");
		}

		@Transactional
		@FencedWrite("ledger")
		void bookAndRollBackQuietly(String entry) {
			insert(entry);
			TransactionAspectSupport.currentTransactionStatus().setRollbackOnly();
		}

		@Transactional(propagation = Propagation.REQUIRES_NEW)
		@FencedWrite("ledger")
		void bookInNewTransaction(String entry) {
			insert(entry);
		}

		@Transactional(propagation = Propagation.NESTED)
		@FencedWrite("ledger")
		void bookNested(String entry, boolean fail) {
			insert(entry);
			if (fail) {
				throw new IllegalStateException("The body fails on purpose");
			}
		}

	}

	@Transactional(rollbackFor = Exception.class)
	static class TransactionalClass extends AbstractLedger {

		TransactionalClass(JdbcTemplate jdbc, RecordingFencingGuard guard) {
			super(jdbc, guard);
		}

		@FencedWrite("ledger")
		void bookAndThrow(String entry) throws IOException {
			insert(entry);
			throw new IOException("The body fails on purpose");
		}

	}

	static class TransactionalCaller {

		private final JdbcTemplate jdbc;

		private final Ledger ledger;

		TransactionalCaller(JdbcTemplate jdbc, Ledger ledger) {
			this.jdbc = jdbc;
			this.ledger = ledger;
		}

		@Transactional
		void book(String entry) {
			this.jdbc.update("INSERT INTO ledger VALUES (?)", "caller " + entry);
			this.ledger.book(entry);
		}

	}

	static class RoleLedger {

		@FencedWrite(resource = "ledger", role = "reports")
		void bookAsReports() {
		}

		@FencedWrite(resource = "ledger", role = "orders/reports")
		void bookAsReportsOfOrders() {
		}

		@FencedWrite(resource = "other")
		void bookAsInnermost() {
		}

	}

	@Retention(RetentionPolicy.RUNTIME)
	@FencedWrite(role = "reports")
	@interface WriteAsReports {

		@AliasFor(annotation = FencedWrite.class, attribute = "resource")
		String value();

	}

	static class ComposedLedger {

		@FencedWrite(resource = "${ledger.name}", role = "${ledger.role}", transactionManager = "${ledger.tm:first}")
		void placeholders() {
		}

		@WriteAsReports("composed")
		void composed() {
		}

	}

	static class NamedTransactionManagerLedger {

		@FencedWrite(resource = "ledger", transactionManager = "second")
		void book() {
		}

		@Transactional("second")
		@FencedWrite("ledger")
		void bookTransactional() {
		}

	}

	static class GatedLedger extends AbstractLedger {

		GatedLedger(JdbcTemplate jdbc, RecordingFencingGuard guard) {
			super(jdbc, guard);
		}

		@FencedWrite("ledger")
		@Transactional
		@FencedLeader(role = "reports", mode = Mode.GATE)
		void book(String entry) {
			insert(entry);
		}

	}

	static class FlakyLedger {

		private boolean failed;

		@FencedWrite("ledger")
		public void book() {
			if (!this.failed) {
				this.failed = true;
				throw new UnsupportedOperationException("The body fails on purpose");
			}
		}

	}

	interface Booking {

		void book(String entry);

		void bookTransactional(String entry);

	}

	static class LedgerBehindInterface implements Booking {

		private final JdbcTemplate jdbc;

		LedgerBehindInterface(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@Override
		@FencedWrite("ledger")
		public void book(String entry) {
			this.jdbc.update("INSERT INTO ledger VALUES (?)", entry);
		}

		@Override
		@Transactional
		@FencedWrite("ledger")
		public void bookTransactional(String entry) {
			this.jdbc.update("INSERT INTO ledger VALUES (?)", entry);
		}

	}

}
