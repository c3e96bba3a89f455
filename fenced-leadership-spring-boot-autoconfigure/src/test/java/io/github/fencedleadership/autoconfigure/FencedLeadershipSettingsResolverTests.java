package io.github.fencedleadership.autoconfigure;

import java.time.Duration;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.mock.env.MockEnvironment;

import io.github.fencedleadership.annotation.RoleSettingsResolver.Declared;
import io.github.fencedleadership.election.RoleSettings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link FencedLeadershipSettingsResolver}.
 */
@ExtendWith(OutputCaptureExtension.class)
class FencedLeadershipSettingsResolverTests {

	private final MockEnvironment environment = new MockEnvironment();

	FencedLeadershipSettingsResolverTests() {
		this.environment.setConversionService(new ApplicationConversionService());
	}

	@Test
	void everythingHasADefault() {
		FencedLeadershipSettings settings = resolve();
		assertThat(settings.namespace()).isEqualTo("default");
		assertThat(settings.ownerName()).isNotBlank().doesNotContain("#");
		assertThat(settings.defaults()).isEqualTo(RoleSettings.of(Duration.ofSeconds(30)));
		assertThat(settings.roles()).isEmpty();
		assertThat(settings.heartbeatInterval()).isEqualTo(Duration.ofSeconds(10));
		assertThat(settings.livenessTtl()).isEqualTo(Duration.ofSeconds(30));
		assertThat(settings.retention()).isEqualTo(Duration.ofDays(1));
		assertThat(settings.drainTimeout()).isEqualTo(Duration.ofSeconds(20));
	}

	@Test
	void namespaceDefaultsToTheNameOfTheApplication() {
		assertThat(resolve("spring.application.name", "orders").namespace()).isEqualTo("orders");
	}

	@Test
	void namespaceWinsOverTheNameOfTheApplication() {
		assertThat(resolve("spring.application.name", "My Orders", "fenced-leadership.namespace", "orders").namespace())
			.isEqualTo("orders");
	}

	@Test
	void applicationNameThatIsNoNamespaceIsRejectedWithTheRemedyToSetOne() {
		FailureAnalysis analysis = analyze("spring.application.name", "My Orders");
		assertThat(analysis.getDescription())
			.isEqualTo("Property 'spring.application.name' with value 'My Orders' cannot be used as a namespace.");
		assertThat(analysis.getAction()).startsWith("Set 'fenced-leadership.namespace'");
	}

	@Test
	void ownerIdIsUsedAsConfigured() {
		assertThat(resolve("fenced-leadership.owner-id", "orders-0.eu").ownerName()).isEqualTo("orders-0.eu");
	}

	@ParameterizedTest
	@ValueSource(strings = { "a#b", "a b", "kn\u00f6del" })
	void unusableOwnerIdIsRejected(String ownerId) {
		assertThat(analyze("fenced-leadership.owner-id", ownerId).getDescription())
			.isEqualTo("Property 'fenced-leadership.owner-id' with value '%s' cannot be used as the name of a node."
				.formatted(ownerId));
	}

	@Test
	void ownerIdThatIsTooLongIsRejected() {
		String longest = "x".repeat(FencedLeadershipSettingsResolver.MAX_OWNER_NAME_LENGTH);
		assertThat(resolve("fenced-leadership.owner-id", longest).ownerName()).isEqualTo(longest);
		assertThat(analyze("fenced-leadership.owner-id", longest + "x").getAction())
			.contains("1 to %d visible ASCII characters".formatted(longest.length()));
	}

	@ParameterizedTest
	@CsvSource({ "host.local, host.local", "h\u00f6st#1, h-st-1", "'my host', my-host", "' ', localhost" })
	void hostNameIsMadeUsable(String hostName, String ownerName) {
		assertThat(FencedLeadershipSettingsResolver.sanitize(hostName)).isEqualTo(ownerName);
	}

	@Test
	void longHostNameIsCut() {
		assertThat(FencedLeadershipSettingsResolver.sanitize("x".repeat(300)))
			.hasSize(FencedLeadershipSettingsResolver.MAX_OWNER_NAME_LENGTH);
	}

	@Test
	void timesDeriveFromTheLeaseTtl() {
		assertThat(resolve("fenced-leadership.lease-ttl", "3s").defaults())
			.isEqualTo(RoleSettings.of(Duration.ofSeconds(3)));
	}

	@Test
	void heartbeatDefaultsToTheSmallestRenewInterval() {
		FencedLeadershipSettings settings = resolve("fenced-leadership.roles.fast.lease-ttl", "6s");
		assertThat(settings.heartbeatInterval()).isEqualTo(Duration.ofSeconds(2));
		assertThat(settings.livenessTtl()).isEqualTo(Duration.ofSeconds(6));
	}

	@Test
	void stallTimeoutOfZeroIsOff() {
		FencedLeadershipSettings settings = resolve("fenced-leadership.stall-timeout", "5m",
				"fenced-leadership.roles.reports.stall-timeout", "0");
		assertThat(settings.defaults().stallTimeout()).isEqualTo(Duration.ofMinutes(5));
		assertThat(settings.roles().get("reports").stallTimeout()).isNull();
		assertThat(resolve("fenced-leadership.stall-timeout", "0s").defaults().stallTimeout()).isNull();
	}

	@Test
	void roleWithItsOwnLeaseTtlDerivesItsOtherTimesAgain() {
		FencedLeadershipSettings settings = resolve("fenced-leadership.lease-ttl", "60s",
				"fenced-leadership.renew-interval", "5s", "fenced-leadership.safety-margin", "10s",
				"fenced-leadership.roles.reports.lease-ttl", "6s");
		assertThat(settings.roles().get("reports")).isEqualTo(RoleSettings.of(Duration.ofSeconds(6)));
	}

	@Test
	void roleWithoutItsOwnLeaseTtlKeepsTheGeneralTimes() {
		FencedLeadershipSettings settings = resolve("fenced-leadership.lease-ttl", "60s",
				"fenced-leadership.renew-interval", "5s", "fenced-leadership.safety-margin", "10s",
				"fenced-leadership.roles.reports.standby-poll-interval", "2s");
		assertThat(settings.roles().get("reports")).isEqualTo(RoleSettings.of(Duration.ofSeconds(60),
				Duration.ofSeconds(5), Duration.ofSeconds(2), Duration.ofSeconds(10), null));
	}

	@Test
	void propertyOfTheRoleWinsOverItsAnnotationWhichWinsOverTheGeneralOne() {
		FencedLeadershipSettingsResolver resolver = resolver("fenced-leadership.lease-ttl", "60s",
				"fenced-leadership.stall-timeout", "5m", "fenced-leadership.roles.reports.renew-interval", "2s");
		Declared declared = new Declared(Duration.ofSeconds(20), Duration.ofSeconds(4), null);
		assertThat(resolver.resolve("reports", declared)).isEqualTo(
				RoleSettings.of(Duration.ofSeconds(20), Duration.ofSeconds(2), null, null, Duration.ofMinutes(5)));
		assertThat(resolver.resolve("other", declared)).isEqualTo(
				RoleSettings.of(Duration.ofSeconds(20), Duration.ofSeconds(4), null, null, Duration.ofMinutes(5)));
	}

	@Test
	void roleOfWhichTheAnnotationStatesNothingHasTheSettingsOfTheElector() {
		assertThat(resolver("fenced-leadership.roles.reports.lease-ttl", "6s").resolve("reports",
				new Declared(null, null, null)))
			.isNull();
	}

	@Test
	void annotationThatDoesNotFitIsLeftToTheCallerToExplain() {
		assertThatIllegalArgumentException().isThrownBy(
				() -> resolver().resolve("reports", new Declared(Duration.ofSeconds(3), Duration.ofSeconds(2), null)));
	}

	@Test
	void annotationThatDoesNotFitThePropertyOfItsRoleIsExplainedByTheProperty() {
		FencedLeadershipSettingsResolver resolver = resolver("fenced-leadership.roles.reports.lease-ttl", "3s");
		assertThatExceptionOfType(InvalidFencedLeadershipPropertyException.class).isThrownBy(
				() -> resolver.resolve("reports", new Declared(Duration.ofSeconds(20), Duration.ofSeconds(4), null)))
			.withMessageContaining("'fenced-leadership.roles.reports.lease-ttl' with value 'PT3S'");
	}

	@ParameterizedTest
	@CsvSource({ "lease-ttl, 99ms", "renew-interval, 0s", "standby-poll-interval, -1s", "safety-margin, 0s",
			"stall-timeout, -1s", "nodes.heartbeat-interval, 0s", "shutdown.drain-timeout, -1s",
			"roles.reports.lease-ttl, 1ms", "roles.reports.renew-interval, 0s",
			"roles.reports.standby-poll-interval, 0s", "roles.reports.safety-margin, 0s",
			"roles.reports.stall-timeout, -1s" })
	void durationThatIsTooShortIsRejected(String property, String value) {
		FailureAnalysis analysis = analyze("fenced-leadership." + property, value);
		assertThat(analysis.getDescription())
			.startsWith("Property 'fenced-leadership.%s' with value".formatted(property))
			.endsWith("is too short.");
		assertThat(analysis.getAction()).startsWith("Set it to at least");
	}

	@Test
	void durationThatIsTooLongIsRejected() {
		assertThat(analyze("fenced-leadership.lease-ttl", "3660000d").getDescription()).endsWith("is too long.");
	}

	@Test
	void renewIntervalThatDoesNotFitIntoTheLeaseTtlIsRejected() {
		FailureAnalysis analysis = analyze("fenced-leadership.lease-ttl", "10s", "fenced-leadership.renew-interval",
				"5s");
		assertThat(analysis.getDescription())
			.startsWith("Property 'fenced-leadership.renew-interval' with value 'PT5S' does not fit:")
			.contains("lease TTL 'PT10S'");
		assertThat(analysis.getAction()).startsWith("Shorten 'fenced-leadership.renew-interval'")
			.contains("lengthen 'fenced-leadership.lease-ttl'");
	}

	@Test
	void safetyMarginThatDoesNotFitIntoTheLeaseTtlOfItsRoleIsRejected() {
		assertThat(analyze("fenced-leadership.roles.reports.safety-margin", "20s").getDescription())
			.startsWith("Property 'fenced-leadership.roles.reports.safety-margin' with value 'PT20S' does not fit:");
	}

	@Test
	void livenessTtlThatIsNotLongerThanTheHeartbeatIsRejected() {
		FailureAnalysis analysis = analyze("fenced-leadership.nodes.liveness-ttl", "10s");
		assertThat(analysis.getDescription()).contains("'fenced-leadership.nodes.liveness-ttl' with value 'PT10S'")
			.contains("heartbeat interval 'PT10S'");
		assertThat(analysis.getAction()).contains("'fenced-leadership.nodes.heartbeat-interval'");
	}

	@Test
	void retentionThatIsShorterThanTheLivenessTtlIsRejected() {
		assertThat(analyze("fenced-leadership.nodes.retention", "5s").getDescription())
			.contains("'fenced-leadership.nodes.retention' with value 'PT5S'")
			.contains("liveness TTL 'PT30S'");
	}

	@Test
	void nameOfARoleThatIsNoneIsRejected() {
		assertThat(analyze("fenced-leadership.roles[my role].lease-ttl", "5s").getDescription())
			.isEqualTo("Property 'fenced-leadership.roles' with value 'my role' is not the name of a role.");
	}

	@Test
	void drainTimeoutBelowThePhaseTimeoutIsFine(CapturedOutput output) {
		resolve();
		assertThat(output).doesNotContain("drain-timeout");
	}

	@Test
	void drainTimeoutThatIsNotBelowThePhaseTimeoutIsAWarning(CapturedOutput output) {
		resolve("spring.lifecycle.timeout-per-shutdown-phase", "20s");
		assertThat(output).contains("'fenced-leadership.shutdown.drain-timeout' with value 'PT20S'")
			.contains("'spring.lifecycle.timeout-per-shutdown-phase' with value 'PT20S'");
	}

	private FailureAnalysis analyze(String... properties) {
		FencedLeadershipSettingsResolver resolver = resolver(properties);
		try {
			resolver.resolve();
		}
		catch (InvalidFencedLeadershipPropertyException ex) {
			return new InvalidFencedLeadershipPropertyFailureAnalyzer().analyze(ex);
		}
		throw new AssertionError("Not rejected");
	}

	private FencedLeadershipSettings resolve(String... properties) {
		return resolver(properties).resolve();
	}

	private FencedLeadershipSettingsResolver resolver(String... properties) {
		for (int i = 0; i < properties.length; i += 2) {
			this.environment.setProperty(properties[i], properties[i + 1]);
		}
		FencedLeadershipProperties bound = Binder.get(this.environment)
			.bindOrCreate("fenced-leadership", Bindable.of(FencedLeadershipProperties.class));
		return new FencedLeadershipSettingsResolver(bound, this.environment,
				new StaticListableBeanFactory().getBeanProvider(StoreCallBound.class));
	}

}
