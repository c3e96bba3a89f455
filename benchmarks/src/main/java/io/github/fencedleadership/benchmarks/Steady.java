package io.github.fencedleadership.benchmarks;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalTime;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicLong;

import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.task.helper.RecurringTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import com.github.kagkarlsson.scheduler.task.schedule.Daily;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;

import io.github.fencedleadership.election.RoleSettings;

/**
 * What a node sends while nothing happens, and how many threads it takes.
 */
final class Steady {

	private final Scale scale;

	private final Database.Server server;

	private final List<Subject> subjects = new ArrayList<>();

	Steady(Scale scale, Database.Server server) {
		this.scale = scale;
		this.server = server;
	}

	Table measure() throws Exception {
		RoleSettings settings = this.scale.settings();
		Table table = new Table("Statements and threads, " + this.server.database(),
				"Statements per node and minute while nothing happens, counted at the driver for `%s` with all nodes side by side: executions, commits and rollbacks. Checks are those of the pool whether an idle connection is still alive. TTL `%s` for all."
					.formatted(this.scale.window(), settings.leaseTtl()),
				"who", "roles", "leading: statements/min", "checks/min", "threads", "standing by: statements/min",
				"checks/min", "threads");
		try {
			for (int roles : sizes()) {
				ours(roles, settings);
			}
			if (this.server.database() == Database.POSTGRESQL) {
				for (int roles : sizes()) {
					if (roles <= 100) {
						springIntegration(roles, settings.leaseTtl());
						shedLock(roles, settings.leaseTtl());
						dbScheduler(roles);
					}
				}
			}
			Waiting.pass(settings.renewInterval());
			this.subjects.forEach(Subject::reset);
			Waiting.pass(this.scale.window());
			double perMinute = 60.0 / this.scale.window().toMillis() * 1000;
			this.subjects.forEach((subject) -> subject.report(table, perMinute));
		}
		finally {
			for (Subject subject : this.subjects) {
				subject.close.close();
			}
		}
		return table;
	}

	private List<Integer> sizes() {
		return List.of(1, Math.min(100, this.scale.manyRoles()), this.scale.manyRoles()).stream().distinct().toList();
	}

	private void ours(int roles, RoleSettings settings) throws Exception {
		StatementCounter leading = new StatementCounter();
		StatementCounter standby = new StatementCounter();
		String namespace = "steady-" + roles;
		int before = Thread.activeCount();
		OurNode leader = new OurNode(this.server.pool(10, leading), namespace, settings).holding(roles).start();
		Waiting.until("all roles are led", () -> leader.held() == roles);
		int leaderThreads = Thread.activeCount() - before;
		before = Thread.activeCount();
		OurNode follower = new OurNode(this.server.pool(10, standby), namespace, settings).holding(roles).start();
		Waiting.pass(settings.standbyPollInterval());
		int followerThreads = Thread.activeCount() - before;
		this.subjects.add(new Subject("ours", roles, leading, leaderThreads, standby, followerThreads, () -> {
			follower.close();
			leader.close();
		}));
	}

	private void springIntegration(int roles, Duration ttl) throws Exception {
		StatementCounter leading = new StatementCounter();
		StatementCounter standby = new StatementCounter();
		AtomicLong granted = new AtomicLong();
		List<String> names = OurNode.roles(roles).stream().map((role) -> roles + role).toList();
		int before = Thread.activeCount();
		Peers.SpringIntegrationNode leader = new Peers.SpringIntegrationNode(this.server.pool(10, leading), ttl, names,
				(role) -> granted.incrementAndGet())
			.start();
		Waiting.until("all roles are led", () -> granted.get() == roles);
		int leaderThreads = Thread.activeCount() - before;
		before = Thread.activeCount();
		Peers.SpringIntegrationNode follower = new Peers.SpringIntegrationNode(this.server.pool(10, standby), ttl,
				names, (role) -> {
				})
			.start();
		Waiting.pass(Duration.ofMillis(500));
		int followerThreads = Thread.activeCount() - before;
		this.subjects
			.add(new Subject("Spring Integration 7.1", roles, leading, leaderThreads, standby, followerThreads, () -> {
				follower.close();
				leader.close();
			}));
	}

	private void shedLock(int roles, Duration ttl) {
		StatementCounter leading = new StatementCounter();
		int before = Thread.activeCount();
		ScheduledExecutorService executor = Executors.newScheduledThreadPool(1);
		KeepAliveLockProvider provider = new KeepAliveLockProvider(Peers.shedLock(this.server.pool(10, leading)),
				executor);
		// Keep-alive takes no shorter ones
		Duration atMost = (ttl.compareTo(Duration.ofSeconds(30)) < 0) ? Duration.ofSeconds(30) : ttl;
		List<SimpleLock> locks = OurNode.roles(roles)
			.stream()
			.map((role) -> provider.lock(new LockConfiguration(Instant.now(), roles + role, atMost, Duration.ZERO))
				.orElseThrow())
			.toList();
		int threads = Thread.activeCount() - before;
		this.subjects.add(new Subject("ShedLock 7.9, keep-alive", roles, leading, threads, null, 0, () -> {
			locks.forEach(SimpleLock::unlock);
			executor.shutdownNow();
		}));
	}

	private void dbScheduler(int roles) throws Exception {
		StatementCounter idle = new StatementCounter();
		List<RecurringTask<Void>> tasks = new ArrayList<>();
		// Due in twelve hours
		LocalTime time = LocalTime.now(ZoneId.systemDefault()).plusHours(12);
		for (String role : OurNode.roles(roles)) {
			tasks.add(Tasks.recurring(roles + role, new Daily(time)).execute((instance, context) -> {
			}));
		}
		int before = Thread.activeCount();
		Scheduler scheduler = Scheduler.create(this.server.pool(10, idle)).startTasks(tasks).threads(10).build();
		scheduler.start();
		Waiting.pass(Duration.ofMillis(500));
		int threads = Thread.activeCount() - before;
		this.subjects.add(new Subject("db-scheduler 16.7, idle", roles, idle, threads, null, 0, scheduler::stop));
	}

	/**
	 * Something whose statements are counted.
	 */
	private record Subject(String name, int roles, StatementCounter leading, int leaderThreads,
			@org.jspecify.annotations.Nullable StatementCounter standby, int standbyThreads, AutoCloseable close) {

		void reset() {
			this.leading.reset();
			if (this.standby != null) {
				this.standby.reset();
			}
		}

		void report(Table table, double perMinute) {
			boolean standsBy = this.standby != null;
			table.row(this.name, String.format("%,d", this.roles), this.leading.statements() * perMinute,
					this.leading.checks() * perMinute, this.leaderThreads,
					(this.standby != null) ? this.standby.statements() * perMinute : "-",
					(this.standby != null) ? this.standby.checks() * perMinute : "-",
					standsBy ? this.standbyThreads : "-");
		}

	}

}
