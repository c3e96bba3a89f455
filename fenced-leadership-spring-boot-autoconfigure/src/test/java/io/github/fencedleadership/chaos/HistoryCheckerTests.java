package io.github.fencedleadership.chaos;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.assertj.core.api.ListAssert;
import org.junit.jupiter.api.Test;

import io.github.fencedleadership.chaos.History.ClockSample;
import io.github.fencedleadership.chaos.History.ExpectedSuccessor;
import io.github.fencedleadership.chaos.History.LeaseRow;
import io.github.fencedleadership.chaos.History.Term;
import io.github.fencedleadership.chaos.History.Write;
import io.github.fencedleadership.chaos.HistoryEvent.Kind;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link HistoryChecker}: a checker that finds nothing proves nothing. Instants
 * are in microseconds, on all clocks, which agree to one microsecond.
 */
class HistoryCheckerTests {

	private final History history = new History();

	private final List<LeaseRow> leases = new ArrayList<>();

	private final List<Write> writes = new ArrayList<>();

	private String head = Write.NONE;

	@Test
	void acceptsWhatTheGuaranteesPromise() {
		lease("a", 1, 100, 200);
		lease("a", 1, 100, 250);
		events("a", 1, Kind.GRANTED, 110, Kind.WORK_STARTED, 111, Kind.HELD, 240);
		write(1, "x");
		acknowledge("a", 1, "x");
		// It is told to stop, and releases.
		events("a", 1, Kind.STOPPING, 241, Kind.REVOKED, 242, Kind.WORK_ENDED, 243);
		lease("a", 1, 100, 245);
		events("a", 1, Kind.STOPPED, 246);
		lease("b", 2, 246, 346);
		events("b", 2, Kind.GRANTED, 247, Kind.WORK_STARTED, 247, Kind.HELD, 345);
		write(2, "y");
		acknowledge("b", 2, "y");
		this.history.expectRelease(new Term("role", 1));
		this.history.expect(new ExpectedSuccessor(new Term("role", 1), 241_000, micros(10), "it was stopped"));
		assertViolations().isEmpty();
	}

	@Test
	void findsTokenThatWentBack() {
		lease("a", 2, 100, 200);
		lease("b", 1, 200, 300);
		assertViolations().singleElement().asString().startsWith("G1").contains("back to 1");
	}

	@Test
	void findsTokenThatChangedItsOwner() {
		lease("a", 1, 100, 200);
		lease("b", 1, 100, 300);
		assertViolations().singleElement().asString().startsWith("G1");
	}

	@Test
	void findsTermThatWentOnAfterItsRelease() {
		lease("a", 1, 100, 200);
		lease("a", 1, 100, 150);
		lease("a", 1, 100, 300);
		assertViolations().singleElement().asString().startsWith("G1").contains("released");
	}

	@Test
	void findsTokenThatWasGrantedToTwoNodes() {
		lease("a", 1, 100, 200);
		events("a", 1, Kind.GRANTED, 110);
		events("b", 1, Kind.GRANTED, 120);
		assertViolations().hasSize(2).allMatch((violation) -> violation.startsWith("G1"));
	}

	@Test
	void findsGrantThatTheDatabaseDoesNotKnow() {
		events("a", 1, Kind.GRANTED, 110);
		assertViolations().singleElement().asString().startsWith("G1");
	}

	@Test
	void findsTermThatBeganWhileAnotherWasLive() {
		lease("a", 1, 100, 200);
		lease("b", 2, 199, 300);
		assertViolations().singleElement().asString().startsWith("G2");
	}

	@Test
	void findsBeliefAfterTheEndOfTheLease() {
		lease("a", 1, 100, 200);
		events("a", 1, Kind.HELD, 202);
		assertViolations().singleElement().asString().startsWith("G3");
	}

	@Test
	void findsBeliefAfterTheRelease() {
		lease("a", 1, 100, 200);
		lease("a", 1, 100, 150);
		events("a", 1, Kind.HELD, 160);
		assertViolations().singleElement().asString().startsWith("G3");
	}

	@Test
	void findsBeliefInTheTermOfAnother() {
		lease("a", 1, 100, 200);
		events("b", 1, Kind.HELD, 150);
		assertViolations().singleElement().asString().startsWith("G3");
	}

	@Test
	void doesNotMindBeliefThatMayHaveBeenInTime() {
		lease("a", 1, 100, 200);
		// It was frozen between the two readings of the clock.
		this.history.add(new HistoryEvent(199_000, 900_000, "a", Kind.HELD, "role", 1, "-"));
		assertViolations().isEmpty();
	}

	@Test
	void findsGrantWithoutRevocationOfTheOneBefore() {
		lease("a", 1, 100, 200);
		lease("a", 2, 200, 300);
		events("a", 1, Kind.GRANTED, 110);
		events("a", 2, Kind.GRANTED, 210);
		assertViolations().singleElement().asString().startsWith("G4");
	}

	@Test
	void findsRevocationOfSomethingElse() {
		lease("a", 1, 100, 200);
		events("a", 1, Kind.GRANTED, 110);
		events("a", 2, Kind.REVOKED, 120);
		assertViolations().singleElement().asString().startsWith("G4");
	}

	@Test
	void findsSecondRevocation() {
		lease("a", 1, 100, 200);
		events("a", 1, Kind.GRANTED, 110, Kind.REVOKED, 120, Kind.REVOKED, 130);
		assertViolations().singleElement().asString().startsWith("G4");
	}

	@Test
	void findsStopWithoutRevocation() {
		lease("a", 1, 100, 200);
		events("a", 1, Kind.GRANTED, 110, Kind.STOPPED, 120);
		assertViolations().singleElement().asString().startsWith("G4");
	}

	@Test
	void findsReleaseBeforeTheWorkHadEnded() {
		lease("a", 1, 100, 200);
		events("a", 1, Kind.WORK_STARTED, 110);
		lease("a", 1, 100, 150);
		events("a", 1, Kind.WORK_ENDED, 160);
		assertViolations().singleElement().asString().startsWith("G5");
	}

	@Test
	void findsReleaseOfWorkThatNeverEnded() {
		lease("a", 1, 100, 200);
		events("a", 1, Kind.WORK_STARTED, 110);
		lease("a", 1, 100, 150);
		assertViolations().singleElement().asString().startsWith("G5");
	}

	@Test
	void findsStopThatLeftItsLease() {
		lease("a", 1, 100, 200);
		this.history.expectRelease(new Term("role", 1));
		assertViolations().singleElement().asString().startsWith("G5");
	}

	@Test
	void doesNotExpectReleaseOfLeaseThatWasLostBefore() {
		lease("a", 1, 100, 200);
		events("a", 1, Kind.GRANTED, 110);
		this.history.add(new HistoryEvent(190_000, 190_000, "a", Kind.REVOKED, "role", 1, "DEADLINE_PASSED"));
		this.history.expectRelease(new Term("role", 1));
		assertViolations().isEmpty();
	}

	@Test
	void findsWorkThatOverlapsThatOfTheTermBefore() {
		lease("a", 1, 100, 200);
		lease("a", 2, 200, 300);
		events("a", 1, Kind.WORK_STARTED, 110);
		events("a", 2, Kind.WORK_STARTED, 210);
		assertViolations().singleElement().asString().startsWith("G6");
	}

	@Test
	void findsStaleWrite() {
		write(2, "x");
		write(1, "y");
		assertViolations().singleElement().asString().startsWith("G7").contains("after token 2");
	}

	@Test
	void findsAcknowledgedWriteThatWasOverwritten() {
		write(1, "x");
		write(1, "y");
		// It had read what there was before "y".
		this.writes.add(new Write("role", 3, "z", "x", 1));
		this.head = "z";
		acknowledge("a", 1, "x");
		acknowledge("a", 1, "y");
		acknowledge("a", 1, "z");
		assertViolations().singleElement().asString().startsWith("G7").contains("[y]");
	}

	@Test
	void findsAcknowledgedWriteThatIsNotThere() {
		acknowledge("a", 1, "x");
		assertViolations().singleElement().asString().startsWith("G7").contains("[x]");
	}

	@Test
	void findsFailureOfTheElector() {
		events("a", 0, Kind.ELECTOR_FAILED, 100);
		assertViolations().singleElement().asString().startsWith("G9");
	}

	@Test
	void findsTermWithoutSuccessor() {
		lease("a", 1, 100, 200);
		this.history.expect(new ExpectedSuccessor(new Term("role", 1), 150_000, micros(100), "it was killed"));
		assertViolations().singleElement().asString().startsWith("Progress");
	}

	@Test
	void findsSuccessorThatCameLate() {
		lease("a", 1, 100, 200);
		lease("b", 2, 260, 300);
		this.history.expect(new ExpectedSuccessor(new Term("role", 1), 150_000, micros(100), "it was killed"));
		assertViolations().singleElement().asString().startsWith("Progress");
	}

	@Test
	void readsWhatANodeWrites() {
		HistoryEvent event = new HistoryEvent(1, 2, "a#1", Kind.HELD, "role", 3, "-");
		assertThat(HistoryEvent.parse(event.toLine())).contains(event);
		assertThat(HistoryEvent.parse("12:00:00 INFO Leading role 'role'")).isEmpty();
	}

	private ListAssert<String> assertViolations() {
		for (long micros = 0; micros <= 1000; micros += 10) {
			this.history.add(new ClockSample(micros * 1000, micros * 1000, micros));
		}
		this.history.setDatabase(this.leases, this.writes, Map.of("role", this.head));
		return assertThat(new HistoryChecker(this.history).check());
	}

	private void lease(String owner, long token, long acquiredAt, long expiresAt) {
		this.leases.add(new LeaseRow("role", owner, token, acquiredAt, expiresAt));
	}

	private void events(String node, long token, Object... kindsAndMicros) {
		for (int i = 0; i < kindsAndMicros.length; i += 2) {
			Kind kind = (Kind) kindsAndMicros[i];
			long nanos = (int) kindsAndMicros[i + 1] * 1000L;
			this.history.add(new HistoryEvent(nanos, nanos, node, kind, "role", token,
					(kind == Kind.REVOKED) ? "STOPPED" : "-"));
		}
	}

	private void write(long token, String element) {
		this.writes.add(new Write("role", this.writes.size() + 1, element, this.head, token));
		this.head = element;
	}

	private void acknowledge(String node, long token, String element) {
		this.history.add(new HistoryEvent(500_000, 500_000, node, Kind.ACKNOWLEDGED, "role", token, element));
	}

	private static Duration micros(long micros) {
		return Duration.ofNanos(micros * 1000);
	}

}
