package io.github.fencedleadership.lease;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;

import io.github.fencedleadership.lease.LeaseResult.Outcome;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * What every {@link LeaseStore} has to do. Extend it for a store of your own.
 * <p>
 * The store under test has to be empty before every test, and its clock has to stand
 * still except when it is told to {@link #advance advance}.
 */
public abstract class LeaseStoreContract {

	/** The TTL that the tests ask for. */
	protected static final Duration TTL = Duration.ofSeconds(30);

	/** The precision that instants are compared with. */
	protected static final Duration MICROSECOND = Duration.of(1, ChronoUnit.MICROS);

	private static final String ROLE = "reports";

	/**
	 * Return the store under test: the same one during a test.
	 * @return the store
	 */
	protected abstract LeaseStore store();

	/**
	 * Let the store's clock advance.
	 * @param duration by how much
	 */
	protected abstract void advance(Duration duration);

	@Test
	void grantsFirstTermWithTokenOne() {
		LeaseResult result = acquire("node-a");
		assertThat(result.outcome()).isEqualTo(Outcome.GRANTED);
		assertThat(result.acquired()).isTrue();
		assertThat(result.role()).isEqualTo(ROLE);
		assertThat(result.fencingToken()).isEqualTo(1);
		assertThat(result.ownerId()).isEqualTo("node-a");
		assertThat(result.remaining()).isEqualTo(TTL);
		assertThat(result.expiresAt()).isEqualTo(lease().expiresAt());
	}

	@Test
	void describesGrantedLease() {
		acquire("node-a");
		Lease lease = lease();
		assertThat(lease.role()).isEqualTo(ROLE);
		assertThat(lease.ownerId()).isEqualTo("node-a");
		assertThat(lease.fencingToken()).isEqualTo(1);
		assertThat(lease.renewedAt()).isEqualTo(lease.acquiredAt());
		assertThat(lease.expiresAt()).isEqualTo(lease.acquiredAt().plus(TTL));
		assertThat(lease.remaining()).isEqualTo(TTL);
		assertThat(lease.isLive()).isTrue();
	}

	@Test
	void renewalKeepsTokenAndAcquisitionAndExtendsExpiry() {
		acquire("node-a");
		Lease granted = lease();
		advance(Duration.ofSeconds(10));
		LeaseResult result = renew("node-a", 1);
		assertThat(result.outcome()).isEqualTo(Outcome.RENEWED);
		assertThat(result.fencingToken()).isEqualTo(1);
		assertThat(result.remaining()).isEqualTo(TTL);
		assertThat(result.expiresAt()).isEqualTo(granted.expiresAt().plusSeconds(10));
		Lease renewed = lease();
		assertThat(renewed.fencingToken()).isEqualTo(1);
		assertThat(renewed.acquiredAt()).isEqualTo(granted.acquiredAt());
		assertThat(renewed.renewedAt()).isEqualTo(granted.renewedAt().plusSeconds(10));
		assertThat(renewed.expiresAt()).isEqualTo(granted.expiresAt().plusSeconds(10));
	}

	@Test
	void acquisitionAdoptsOwnLiveTerm() {
		acquire("node-a");
		advance(Duration.ofSeconds(10));
		LeaseResult result = acquire("node-a");
		assertThat(result.outcome()).isEqualTo(Outcome.RENEWED);
		assertThat(result.fencingToken()).isEqualTo(1);
		assertThat(result.remaining()).isEqualTo(TTL);
	}

	@Test
	void refusesContenderAndDescribesHolder() {
		LeaseResult granted = acquire("node-a");
		advance(Duration.ofSeconds(10));
		LeaseResult result = acquire("node-b");
		assertThat(result.outcome()).isEqualTo(Outcome.REFUSED);
		assertThat(result.acquired()).isFalse();
		assertThat(result.ownerId()).isEqualTo("node-a");
		assertThat(result.fencingToken()).isEqualTo(1);
		assertThat(result.expiresAt()).isEqualTo(granted.expiresAt());
		assertThat(result.remaining()).isEqualTo(TTL.minusSeconds(10));
	}

	@Test
	void holdsLeaseUntilTheInstantItExpires() {
		acquire("node-a");
		advance(TTL.minus(MICROSECOND));
		LeaseResult result = acquire("node-b");
		assertThat(result.outcome()).isEqualTo(Outcome.REFUSED);
		assertThat(result.remaining()).isEqualTo(MICROSECOND);
		advance(MICROSECOND);
		assertThat(acquire("node-b").outcome()).isEqualTo(Outcome.GRANTED);
	}

	@Test
	void lapsedLeaseIsTakenOverWithNextToken() {
		acquire("node-a");
		advance(TTL.plusSeconds(1));
		assertThat(lease().isLive()).isFalse();
		assertThat(lease().remaining()).isZero();
		LeaseResult result = acquire("node-b");
		assertThat(result.outcome()).isEqualTo(Outcome.GRANTED);
		assertThat(result.fencingToken()).isEqualTo(2);
		assertThat(lease().ownerId()).isEqualTo("node-b");
	}

	@Test
	void lapsedLeaseTakenAgainByItsOwnerIsNewTerm() {
		acquire("node-a");
		advance(TTL.plusSeconds(1));
		LeaseResult result = acquire("node-a");
		assertThat(result.outcome()).isEqualTo(Outcome.GRANTED);
		assertThat(result.fencingToken()).isEqualTo(2);
		assertThat(lease().acquiredAt()).isEqualTo(lease().renewedAt());
	}

	@Test
	void renewalNeverBeginsTermAfterLapse() {
		LeaseResult granted = acquire("node-a");
		advance(TTL);
		LeaseResult result = renew("node-a", 1);
		assertThat(result.outcome()).isEqualTo(Outcome.REFUSED);
		assertThat(result.ownerId()).isEqualTo("node-a");
		assertThat(result.fencingToken()).isEqualTo(1);
		assertThat(result.expiresAt()).isEqualTo(granted.expiresAt());
		assertThat(result.remaining()).isZero();
		assertThat(acquire("node-b").fencingToken()).isEqualTo(2);
	}

	@Test
	void renewalNeverBeginsTermOfUnknownRole() {
		LeaseResult result = renew("node-a", 7);
		assertThat(result.outcome()).isEqualTo(Outcome.REFUSED);
		assertThat(result.fencingToken()).isZero();
		assertThat(result.ownerId()).isNull();
		assertThat(result.expiresAt()).isNull();
		assertThat(result.remaining()).isZero();
		assertThat(store().find(ROLE)).isEmpty();
	}

	@Test
	void renewalOfEarlierOwnTermIsRefused() {
		acquire("node-a");
		advance(TTL);
		acquire("node-a");
		LeaseResult result = renew("node-a", 1);
		assertThat(result.outcome()).isEqualTo(Outcome.REFUSED);
		assertThat(result.fencingToken()).isEqualTo(2);
		assertThat(result.remaining()).isEqualTo(TTL);
	}

	@Test
	void renewalWithTokenOfAnotherOwnerIsRefused() {
		acquire("node-a");
		LeaseResult result = renew("node-b", 1);
		assertThat(result.outcome()).isEqualTo(Outcome.REFUSED);
		assertThat(result.ownerId()).isEqualTo("node-a");
		assertThat(lease().ownerId()).isEqualTo("node-a");
	}

	@Test
	void tokenRisesAboveFloorOfUnknownRole() {
		LeaseResult result = one("node-a", LeaseRequest.acquire(ROLE, TTL, 41));
		assertThat(result.outcome()).isEqualTo(Outcome.GRANTED);
		assertThat(result.fencingToken()).isEqualTo(42);
	}

	@Test
	void tokenRisesAboveTheHigherOfFloorAndLastToken() {
		acquire("node-a");
		advance(TTL);
		assertThat(one("node-b", LeaseRequest.acquire(ROLE, TTL, 9)).fencingToken()).isEqualTo(10);
		advance(TTL);
		assertThat(one("node-b", LeaseRequest.acquire(ROLE, TTL, 3)).fencingToken()).isEqualTo(11);
	}

	@Test
	void floorDoesNotChangeTokenOfLiveTerm() {
		acquire("node-a");
		LeaseResult result = one("node-a", LeaseRequest.acquire(ROLE, TTL, 9));
		assertThat(result.outcome()).isEqualTo(Outcome.RENEWED);
		assertThat(result.fencingToken()).isEqualTo(1);
	}

	@Test
	void releaseByHolderFreesRoleAtOnce() {
		acquire("node-a");
		advance(Duration.ofSeconds(1));
		assertThat(store().release(ROLE, "node-a", 1)).isTrue();
		Lease lease = lease();
		assertThat(lease.isLive()).isFalse();
		assertThat(lease.ownerId()).isEqualTo("node-a");
		assertThat(lease.fencingToken()).isEqualTo(1);
		assertThat(lease.expiresAt()).isEqualTo(lease.acquiredAt().plusSeconds(1));
		LeaseResult result = acquire("node-b");
		assertThat(result.outcome()).isEqualTo(Outcome.GRANTED);
		assertThat(result.fencingToken()).isEqualTo(2);
	}

	@Test
	void releasedRoleTakenAgainByItsOwnerIsNewTerm() {
		acquire("node-a");
		store().release(ROLE, "node-a", 1);
		assertThat(acquire("node-a").fencingToken()).isEqualTo(2);
	}

	@Test
	void releaseOfWrongRoleOwnerOrTokenChangesNothing() {
		acquire("node-a");
		Lease before = lease();
		assertThat(store().release("other", "node-a", 1)).isFalse();
		assertThat(store().release(ROLE, "node-b", 1)).isFalse();
		assertThat(store().release(ROLE, "node-a", 2)).isFalse();
		assertThat(store().release(ROLE, "node-a", 0)).isFalse();
		assertThat(lease()).isEqualTo(before);
	}

	@Test
	void releasesManyAtOnceEachForItself() {
		store().tryAcquireOrRenew("first", "a", TTL);
		store().tryAcquireOrRenew("second", "a", TTL);
		store().tryAcquireOrRenew("others", "b", TTL);
		store().tryAcquireOrRenew("short", "a", Duration.ofSeconds(1));
		advance(Duration.ofSeconds(2));
		assertThat(store().release("a", Map.of("first", 1L, "second", 2L, "others", 1L, "short", 1L, "unknown", 1L)))
			.containsOnly(Map.entry("first", true), Map.entry("second", false), Map.entry("others", false),
					Map.entry("short", false), Map.entry("unknown", false));
		assertThat(store().findAll()).filteredOn(Lease::isLive)
			.extracting(Lease::role)
			.containsExactly("others", "second");
		assertThat(store().tryAcquireOrRenew("first", "b", TTL).fencingToken()).isEqualTo(2);
	}

	@Test
	void releasesNothingIfAskedForNothing() {
		assertThat(store().release("a", Map.of())).isEmpty();
	}

	@Test
	void releaseOfTermThatIsOverChangesNothing() {
		acquire("node-a");
		store().release(ROLE, "node-a", 1);
		Lease released = lease();
		advance(Duration.ofSeconds(1));
		assertThat(store().release(ROLE, "node-a", 1)).isFalse();
		assertThat(lease()).isEqualTo(released);
	}

	@Test
	void releaseOfLapsedTermChangesNothing() {
		acquire("node-a");
		advance(TTL);
		Lease lapsed = lease();
		assertThat(store().release(ROLE, "node-a", 1)).isFalse();
		assertThat(lease()).isEqualTo(lapsed);
	}

	@Test
	void answersInTheOrderOfTheRequestsWhateverTheirMixture() {
		one("node-b", LeaseRequest.acquire("held", TTL, 0));
		one("node-a", LeaseRequest.acquire("own", TTL, 0));
		one("node-a", LeaseRequest.acquire("own-to-adopt", TTL, 0));
		one("node-b", LeaseRequest.acquire("lapsed", Duration.ofSeconds(1), 0));
		advance(Duration.ofSeconds(2));
		List<LeaseResult> results = store().tryAcquireOrRenew("node-a",
				List.of(LeaseRequest.renew("own", TTL, 1), LeaseRequest.acquire("lapsed", TTL, 0),
						LeaseRequest.acquire("held", TTL, 0), LeaseRequest.renew("gone", TTL, 5),
						LeaseRequest.acquire("free", TTL, 0), LeaseRequest.acquire("own-to-adopt", TTL, 0)));
		assertThat(results).extracting(LeaseResult::role)
			.containsExactly("own", "lapsed", "held", "gone", "free", "own-to-adopt");
		assertThat(results).extracting(LeaseResult::outcome)
			.containsExactly(Outcome.RENEWED, Outcome.GRANTED, Outcome.REFUSED, Outcome.REFUSED, Outcome.GRANTED,
					Outcome.RENEWED);
		assertThat(results).extracting(LeaseResult::fencingToken).containsExactly(1L, 2L, 1L, 0L, 1L, 1L);
	}

	@Test
	void eachRequestHasItsOwnTtl() {
		List<LeaseResult> results = store().tryAcquireOrRenew("node-a",
				List.of(LeaseRequest.acquire("short", Duration.ofMillis(1), 0),
						LeaseRequest.acquire("long", Duration.ofDays(400), 0)));
		assertThat(results).extracting(LeaseResult::remaining)
			.containsExactly(Duration.ofMillis(1), Duration.ofDays(400));
	}

	@Test
	void fractionsOfMillisecondAreCutOff() {
		LeaseResult result = one("node-a", LeaseRequest.acquire(ROLE, Duration.ofNanos(1_999_999), 0));
		assertThat(result.remaining()).isEqualTo(Duration.ofMillis(1));
	}

	@Test
	void manyRolesAtOnce() {
		List<String> roles = IntStream.range(0, 300).mapToObj((i) -> "role-" + i).toList();
		List<LeaseRequest> acquisitions = roles.stream().map((role) -> LeaseRequest.acquire(role, TTL, 0)).toList();
		assertThat(store().tryAcquireOrRenew("node-a", acquisitions)).extracting(LeaseResult::outcome)
			.containsOnly(Outcome.GRANTED)
			.hasSize(300);
		assertThat(store().tryAcquireOrRenew("node-b", acquisitions)).extracting(LeaseResult::outcome)
			.containsOnly(Outcome.REFUSED)
			.hasSize(300);
		List<LeaseRequest> renewals = roles.stream().map((role) -> LeaseRequest.renew(role, TTL, 1)).toList();
		assertThat(store().tryAcquireOrRenew("node-a", renewals)).extracting(LeaseResult::outcome)
			.containsOnly(Outcome.RENEWED)
			.hasSize(300);
	}

	@Test
	void noRequestsNoResults() {
		assertThat(store().tryAcquireOrRenew("node-a", List.of())).isEmpty();
	}

	@Test
	void requestsOfSameRoleAreRejected() {
		List<LeaseRequest> requests = List.of(LeaseRequest.acquire(ROLE, TTL, 0), LeaseRequest.renew(ROLE, TTL, 1));
		assertThatIllegalArgumentException().isThrownBy(() -> store().tryAcquireOrRenew("node-a", requests))
			.withMessageContaining("'reports'");
		assertThat(store().findAll()).isEmpty();
	}

	@Test
	void rolesAreComparedExactly() {
		List<String> roles = new ArrayList<>(List.of("reports", "Reports", "REPORTS", "a.b", "a_b", "a-b", "a:b"));
		for (String role : roles) {
			LeaseResult result = one("node-" + role.hashCode(), LeaseRequest.acquire(role, TTL, 0));
			assertThat(result.outcome()).as(role).isEqualTo(Outcome.GRANTED);
		}
		assertThat(store().findAll()).extracting(Lease::role)
			.containsExactlyElementsOf(roles.stream().sorted().toList());
	}

	@Test
	void longestNamesAreKept() {
		String role = "r".repeat(Roles.MAX_LENGTH);
		String owner = "n".repeat(150);
		assertThat(one(owner, LeaseRequest.acquire(role, TTL, 0)).outcome()).isEqualTo(Outcome.GRANTED);
		assertThat(store().find(role)).hasValueSatisfying((lease) -> assertThat(lease.ownerId()).isEqualTo(owner));
	}

	@Test
	void findsNothingForRoleThatWasNeverHeld() {
		assertThat(store().find(ROLE)).isEmpty();
		assertThat(store().findAll()).isEmpty();
	}

	@Test
	void findsLiveAndLapsedLeasesSortedByRole() {
		one("node-b", LeaseRequest.acquire("b", Duration.ofSeconds(1), 0));
		one("node-a", LeaseRequest.acquire("c", TTL, 0));
		one("node-a", LeaseRequest.acquire("B", TTL, 0));
		advance(Duration.ofSeconds(1));
		assertThat(store().findAll()).extracting(Lease::role).containsExactly("B", "b", "c");
		Map<String, Boolean> live = store().findAll().stream().collect(Collectors.toMap(Lease::role, Lease::isLive));
		assertThat(live).containsEntry("B", true).containsEntry("b", false).containsEntry("c", true);
	}

	@Test
	void singleRequestIsAcquisition() {
		assertThat(store().tryAcquireOrRenew(ROLE, "node-a", TTL).outcome()).isEqualTo(Outcome.GRANTED);
		assertThat(store().tryAcquireOrRenew(ROLE, "node-a", TTL).outcome()).isEqualTo(Outcome.RENEWED);
		assertThat(store().tryAcquireOrRenew(ROLE, "node-b", TTL).outcome()).isEqualTo(Outcome.REFUSED);
	}

	private LeaseResult acquire(String ownerId) {
		return one(ownerId, LeaseRequest.acquire(ROLE, TTL, 0));
	}

	private LeaseResult renew(String ownerId, long token) {
		return one(ownerId, LeaseRequest.renew(ROLE, TTL, token));
	}

	private LeaseResult one(String ownerId, LeaseRequest request) {
		List<LeaseResult> results = store().tryAcquireOrRenew(ownerId, List.of(request));
		assertThat(results).hasSize(1);
		return results.get(0);
	}

	private Lease lease() {
		return store().find(ROLE).orElseThrow();
	}

}
