package io.github.fencedleadership.sample.launcher;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.Test;

import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Entries;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Node;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.ProcessState;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Refusal;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Role;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Term;
import io.github.fencedleadership.sample.launcher.EventLog.Event;
import io.github.fencedleadership.sample.launcher.EventLog.Kind;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ClusterPage}.
 */
class ClusterPageTests {

	private static final Instant NOW = Instant.parse("2026-12-01T12:00:10Z");

	private static final String EVIL = "<script>alert('\"&')</script>";

	private static final String HARMLESS = "&lt;script&gt;alert(&#39;&quot;&amp;&#39;)&lt;/script&gt;";

	@Test
	void showsWhatIsLeftOfALeaseNow() {
		Role role = new Role("ledger", "node-1", 7, NOW.minusSeconds(75), Duration.ofSeconds(6), Duration.ofSeconds(5));
		String page = render(snapshot(NOW.minusMillis(1500), List.of(), List.of(role), Entries.NONE));
		assertThat(page).contains(">node-1</strong> leads with <span class=\"token\">token 7</span>")
			.contains("since 11:58:55, for 1 min 15 s")
			.contains("max=\"6000\" value=\"3500\" data-remaining=\"3500\"")
			.contains("<span>3.5 s</span>");
	}

	@Test
	void showsNoLeaseOfARoleThatNobodyLeads() {
		Role role = new Role("ledger", null, 7, NOW, Duration.ofSeconds(6), Duration.ofSeconds(5));
		assertThat(render(snapshot(NOW, List.of(), List.of(role), Entries.NONE)))
			.contains("Nobody</strong> leads, the last was <span class=\"token\">token 7</span>")
			.contains("value=\"0\" data-remaining=\"0\"")
			.contains("value=\"step-down\" title=")
			.contains("aria-disabled=\"true\">Step down</button>");
	}

	@Test
	void leaseThatHasRunOutIsNotNegative() {
		Role role = new Role("ledger", "node-1", 7, NOW, Duration.ofSeconds(6), Duration.ofSeconds(5));
		assertThat(render(snapshot(NOW.minusSeconds(9), List.of(), List.of(role), Entries.NONE)))
			.contains("value=\"0\" data-remaining=\"0\"")
			.contains("<span>0.0 s</span>");
	}

	@Test
	void offersWhatCanBeDoneToANode() {
		assertThat(render(node(ProcessState.RUNNING, false, true))).contains("running</span>")
			.contains(">Freeze</button>")
			.contains(">Kill</button>")
			.contains("live, heard of 2 s ago");
		assertThat(render(node(ProcessState.FROZEN, false, false))).contains("frozen</span>")
			.contains(">Resume</button>")
			.contains(">Kill</button>")
			.contains("aria-disabled=\"true\">Wedge the job</button>");
		assertThat(render(node(ProcessState.DEAD, false, false))).contains("dead</span>")
			.contains("aria-disabled=\"true\">Freeze</button>")
			.contains(">Start</button>");
		assertThat(render(node(ProcessState.RUNNING, true, true))).contains(">Free the job</button>");
		assertThat(render(node(ProcessState.RUNNING, false, false))).contains("does not answer");
	}

	@Test
	void jobOfTheLeaderCanBeWedged() {
		Role role = new Role("ledger", "node-1", 7, NOW, Duration.ofSeconds(6), Duration.ofSeconds(5));
		Node leader = node(ProcessState.RUNNING, false, true);
		Node standby = new Node("node-2", 8082, 43, ProcessState.RUNNING, false, true, Map.of("ledger", "STANDBY"),
				null);
		String page = render(snapshot(NOW, List.of(leader, standby), List.of(role), Entries.NONE));
		assertThat(page.split("aria-disabled=\"true\">Wedge the job", -1)).hasSize(2);
		assertThat(page.split(">Wedge the job", -1)).hasSize(3);
	}

	@Test
	void saysWhenNobodyKnows() {
		assertThat(render(snapshot(NOW, List.of(), List.of(), new Entries(List.of(), List.of(), "no connection"))))
			.contains("No node answers that could tell who leads.")
			.contains("The database does not answer: no connection");
	}

	@Test
	void showsRowsAndRefusalsByToken() {
		Entries entries = new Entries(List.of(new Term("ledger", 8, "node-2", 3, "entry 20", NOW)),
				List.of(new Refusal(1, NOW, "ledger", 7, 8, "node-1", "entry 18")), null);
		assertThat(render(snapshot(NOW, List.of(), List.of(), entries))).containsSubsequence("Refused writes", "node-1",
				"entry 18", "token over\">7<", "token\">8<", "Rows of the ledger", "token\">8<", "node-2", "3",
				"entry 20");
	}

	@Test
	void escapesEverythingThatItIsTold() {
		Node node = new Node(EVIL, 8081, 42, ProcessState.RUNNING, false, true, Map.of(EVIL, EVIL), NOW);
		Role role = new Role(EVIL, EVIL, 7, NOW, Duration.ofSeconds(6), Duration.ofSeconds(5));
		Entries entries = new Entries(List.of(new Term("ledger", 8, EVIL, 3, EVIL, NOW)),
				List.of(new Refusal(1, NOW, EVIL, 7, 8, EVIL, EVIL)), null);
		String page = ClusterPage.render(snapshot(NOW, List.of(node), List.of(role), entries),
				List.of(new Event(NOW, Kind.FAILURE, EVIL)), EVIL, NOW, ZoneOffset.UTC);
		assertThat(page).contains(HARMLESS).doesNotContain("<script>alert").doesNotContain("alert('");
	}

	private static Node node(ProcessState process, boolean wedged, boolean answering) {
		return new Node("node-1", 8081, 42, process, wedged, answering, Map.of(), NOW.minusSeconds(2));
	}

	private static String render(Node node) {
		return render(snapshot(NOW, List.of(node), List.of(), Entries.NONE));
	}

	private static ClusterSnapshot snapshot(Instant at, List<Node> nodes, List<Role> roles, Entries entries) {
		return new ClusterSnapshot(at, nodes, roles, entries);
	}

	private static String render(ClusterSnapshot snapshot) {
		return ClusterPage.render(snapshot, List.of(), "token", NOW, ZoneOffset.UTC);
	}

}
