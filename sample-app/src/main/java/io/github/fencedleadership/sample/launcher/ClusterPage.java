package io.github.fencedleadership.sample.launcher;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;

import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Entries;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Node;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.ProcessState;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Refusal;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Role;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Term;
import io.github.fencedleadership.sample.launcher.EventLog.Event;

/**
 * Makes the page of what is known of the cluster at one moment. All texts are escaped.
 */
final class ClusterPage {

	/**
	 * The role whose job can be seen writing.
	 */
	private static final String ROLE = "ledger";

	private static final int MAX_TERMS = 8;

	private static final int MAX_REFUSALS = 8;

	private static final int MAX_EVENTS = 40;

	private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT);

	private final StringBuilder html = new StringBuilder();

	private final ClusterSnapshot snapshot;

	private final List<Event> events;

	private final String token;

	private final Instant now;

	private final ZoneId zone;

	private ClusterPage(ClusterSnapshot snapshot, List<Event> events, String token, Instant now, ZoneId zone) {
		this.snapshot = snapshot;
		this.events = events;
		this.token = token;
		this.now = now;
		this.zone = zone;
	}

	/**
	 * Make the page.
	 * @param snapshot what was seen last
	 * @param events what happened, the latest first
	 * @param token what the forms have to send
	 * @param now the time
	 * @param zone what people here take it for
	 * @return the page, in HTML
	 */
	static String render(ClusterSnapshot snapshot, List<Event> events, String token, Instant now, ZoneId zone) {
		return new ClusterPage(snapshot, events, token, now, zone).render();
	}

	private String render() {
		add("""
				<!DOCTYPE html>
				<html lang="en">
				<head>
				<meta charset="utf-8">
				<meta name="viewport" content="width=device-width, initial-scale=1">
				<title>Fenced leadership: the sample</title>
				<link rel="icon" href="/icon.svg">
				<link rel="stylesheet" href="/page.css">
				<script src="/page.js" defer></script>
				<noscript><meta http-equiv="refresh" content="2"></noscript>
				</head>
				<body>
				<header>
				<h1>One job, several nodes, one leader</h1>
				<p><strong>Try it:</strong> freeze the leader of <code>ledger</code>, in the middle of its work. When its lease
				has run out, another node leads, with the next token. Resume the old one: it knows nothing yet, and writes. The
				guard refuses that write, because its token is over.</p>
				<p>Every button does the real thing to a real process.</p>
				</header>
				<main>
				""");
		Event latest = this.events.isEmpty() ? null : this.events.get(0);
		add("<p class=\"visually-hidden\" role=\"status\">%s</p>\n", (latest != null) ? latest.text() : "");
		add("<section aria-labelledby=\"roles\">\n<h2 id=\"roles\">Roles</h2>\n<div class=\"cards two\">\n");
		if (this.snapshot.roles().isEmpty()) {
			add("<p class=\"none\">No node answers that could tell who leads.</p>\n");
		}
		this.snapshot.roles().forEach(this::addRole);
		add("</div>\n</section>\n");
		add("<section aria-labelledby=\"nodes\">\n<h2 id=\"nodes\">Nodes</h2>\n<div class=\"cards three\">\n");
		this.snapshot.nodes().forEach(this::addNode);
		add("</div>\n</section>\n");
		addRefusals(this.snapshot.entries());
		add("<div class=\"columns\">\n");
		addTerms(this.snapshot.entries());
		addEvents();
		add("</div>\n</main>\n</body>\n</html>\n");
		return this.html.toString();
	}

	private void addRole(Role role) {
		Duration remaining = role.remaining().minus(Duration.between(this.snapshot.at(), this.now));
		if (remaining.isNegative() || role.leader() == null) {
			remaining = Duration.ZERO;
		}
		add("<article class=\"card\" id=\"role-%s\">\n<h3>%s</h3>\n", role.name(), role.name());
		if (role.leader() != null) {
			add("<p><strong class=\"leader\">%s</strong> leads with <span class=\"token\">token %d</span></p>\n",
					role.leader(), role.token());
			add("<p class=\"detail\">since %s, for %s</p>\n", time(role.acquiredAt()), age(role.acquiredAt()));
		}
		else {
			add("<p><strong class=\"leader\">Nobody</strong> leads, the last was <span class=\"token\">token %d</span></p>\n",
					role.token());
			add("<p class=\"detail\">until a node takes over</p>\n");
		}
		add("<p class=\"lease\"><label for=\"lease-%s\">Lease</label> <progress id=\"lease-%s\" max=\"%d\" value=\"%d\" data-remaining=\"%d\"></progress> <span>%s s</span></p>\n",
				role.name(), role.name(), Math.max(1, role.ttl().toMillis()), remaining.toMillis(),
				remaining.toMillis(), seconds(remaining));
		beginForm(role.name(), "Role " + role.name());
		addButton("step-down", "Step down", role.leader() != null,
				"%s drains its work and hands %s over".formatted(role.leader(), role.name()));
		add("</form>\n</article>\n");
	}

	private void addNode(Node node) {
		boolean alive = node.process() != ProcessState.DEAD;
		boolean frozen = node.process() == ProcessState.FROZEN;
		add("<article class=\"card %s\" id=\"%s\">\n<h3>%s <span class=\"badge\">%s</span></h3>\n",
				node.process().name().toLowerCase(Locale.ROOT), node.name(), node.name(), describe(node.process()));
		add("<p class=\"detail\">process %d, port %d</p>\n", node.pid(), node.port());
		if (node.process() == ProcessState.RUNNING && !node.answering()) {
			add("<p class=\"detail\">does not answer%s</p>\n", (node.lastHeartbeat() == null) ? " yet" : "");
		}
		else {
			add("<p class=\"detail\">%s</p>\n", (node.lastHeartbeat() != null)
					? "live, heard of %s ago".formatted(age(node.lastHeartbeat())) : "not among the live nodes");
		}
		add("<dl>\n");
		for (Role role : this.snapshot.roles()) {
			String state = node.states().getOrDefault(role.name(), "");
			add("<div><dt>%s</dt><dd class=\"state %s\">%s</dd></div>\n", role.name(), state.toLowerCase(Locale.ROOT),
					describe(state));
		}
		add("</dl>\n");
		beginForm(node.name(), "Node " + node.name());
		addButton(frozen ? "resume" : "freeze", frozen ? "Resume" : "Freeze", alive,
				frozen ? "SIGCONT: it runs on where it was stopped" : "SIGSTOP: as in a long pause");
		addButton(alive ? "kill" : "start", alive ? "Kill" : "Start", true,
				alive ? "SIGKILL: it is gone at once" : "as a new process");
		boolean leading = this.snapshot.role(ROLE).filter((role) -> node.name().equals(role.leader())).isPresent();
		addButton(node.wedged() ? "free" : "wedge", node.wedged() ? "Free the job" : "Wedge the job",
				alive && !frozen && (leading || node.wedged()), node.wedged() ? "its job gets on"
						: "its job gets stuck, its process does not: for the leader of " + ROLE);
		add("</form>\n</article>\n");
	}

	private static String describe(ProcessState state) {
		return switch (state) {
			case RUNNING -> "running";
			case FROZEN -> "frozen";
			case DEAD -> "dead";
		};
	}

	private static String describe(String state) {
		return state.isEmpty() ? "unknown" : state.toLowerCase(Locale.ROOT).replace('_', ' ');
	}

	private void addRefusals(Entries entries) {
		add("<section aria-labelledby=\"refusals\">\n<h2 id=\"refusals\">Refused writes</h2>\n");
		if (entries.error() != null) {
			add("<p class=\"none\">The database does not answer: %s</p>\n", entries.error());
		}
		else if (entries.refusals().isEmpty()) {
			add("<p class=\"none\">None yet.</p>\n");
		}
		else {
			add("<div class=\"table\"><table>\n<thead><tr><th scope=\"col\">Time</th><th scope=\"col\">Node</th><th scope=\"col\">Entry</th><th scope=\"col\">Token</th><th scope=\"col\">Newer</th></tr></thead>\n<tbody>\n");
			for (Refusal refusal : entries.refusals().stream().limit(MAX_REFUSALS).toList()) {
				add("<tr class=\"refusal\"><td>%s</td><td>%s</td><td>%s</td><td><span class=\"token over\">%d</span></td><td><span class=\"token\">%d</span></td></tr>\n",
						time(refusal.at()), refusal.node(), refusal.entry(), refusal.token(), refusal.newerToken());
			}
			add("</tbody>\n</table></div>\n");
		}
		add("</section>\n");
	}

	private void addTerms(Entries entries) {
		add("<section aria-labelledby=\"rows\">\n<h2 id=\"rows\">Rows of the ledger, by token</h2>\n");
		List<Term> terms = entries.terms().stream().filter((term) -> term.role().equals(ROLE)).toList();
		if (terms.isEmpty()) {
			add("<p class=\"none\">None yet.</p>\n");
		}
		else {
			add("<div class=\"table\"><table>\n<thead><tr><th scope=\"col\">Token</th><th scope=\"col\">Node</th><th scope=\"col\">Rows</th><th scope=\"col\">Last</th><th scope=\"col\">Written</th></tr></thead>\n<tbody>\n");
			for (Term term : terms.stream().limit(MAX_TERMS).toList()) {
				add("<tr><td><span class=\"token\">%d</span></td><td>%s</td><td>%d</td><td>%s</td><td>%s</td></tr>\n",
						term.token(), term.node(), term.count(), term.last(), time(term.lastAt()));
			}
			add("</tbody>\n</table></div>\n");
		}
		add("</section>\n");
	}

	private void addEvents() {
		add("<section aria-labelledby=\"events\">\n<h2 id=\"events\">What happened</h2>\n<ol class=\"events\" tabindex=\"0\" aria-labelledby=\"events\">\n");
		for (Event event : this.events.stream().limit(MAX_EVENTS).toList()) {
			add("<li class=\"%s\"><time>%s</time> <span>%s</span></li>\n", event.kind().name().toLowerCase(Locale.ROOT),
					time(event.at()), event.text());
		}
		add("</ol>\n</section>\n");
	}

	private void beginForm(String target, String label) {
		add("<form method=\"post\" action=\"/act\" aria-label=\"%s\">\n<input type=\"hidden\" name=\"token\" value=\"%s\">\n<input type=\"hidden\" name=\"target\" value=\"%s\">\n",
				label, this.token, target);
	}

	/**
	 * A button that is not available keeps the focus, which a disabled one would lose.
	 */
	private void addButton(String action, String label, boolean available, String title) {
		add("<button name=\"action\" value=\"%s\" title=\"%s\"%s>%s</button>\n", action, title,
				new Markup(available ? "" : " aria-disabled=\"true\""), label);
	}

	private String time(@Nullable Instant instant) {
		return (instant != null) ? TIME.format(instant.atZone(this.zone)) : "?";
	}

	private String age(@Nullable Instant instant) {
		if (instant == null) {
			return "?";
		}
		long seconds = Math.max(0, Duration.between(instant, this.now).toSeconds());
		return (seconds < 60) ? seconds + " s" : "%d min %d s".formatted(seconds / 60, seconds % 60);
	}

	private static String seconds(Duration duration) {
		return String.format(Locale.ROOT, "%.1f", duration.toMillis() / 1000.0);
	}

	private void add(String markup, Object... values) {
		Object[] escaped = new Object[values.length];
		for (int i = 0; i < values.length; i++) {
			escaped[i] = (values[i] instanceof String text) ? escape(text) : values[i];
		}
		this.html.append((values.length > 0) ? markup.formatted(escaped) : markup);
	}

	private static String escape(String text) {
		return text.replace("&", "&amp;")
			.replace("<", "&lt;")
			.replace(">", "&gt;")
			.replace("\"", "&quot;")
			.replace("'", "&#39;");
	}

	/**
	 * What is not to be escaped.
	 *
	 * @param text the markup
	 */
	private record Markup(String text) {

		@Override
		public String toString() {
			return this.text;
		}

	}

}
