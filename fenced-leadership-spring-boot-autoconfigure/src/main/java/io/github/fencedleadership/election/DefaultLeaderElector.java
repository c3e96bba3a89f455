package io.github.fencedleadership.election;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import io.github.fencedleadership.election.ElectionCore.Interest;
import io.github.fencedleadership.election.ElectionCore.Round;
import io.github.fencedleadership.fencing.FencingContext;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.lease.Lease;
import io.github.fencedleadership.lease.LeaseRequest;
import io.github.fencedleadership.lease.LeaseResult;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.lease.ReleaseNotifications;
import io.github.fencedleadership.lease.ReleaseNotifications.Subscription;
import io.github.fencedleadership.membership.Node;
import io.github.fencedleadership.membership.NodeRegistry;

/**
 * The {@link LeaderElector} of one node, on any {@link LeaseStore}.
 * <p>
 * Threads: one talks to the store and the registry, and nothing else; one watches the
 * deadlines and never touches the store; one calls the listeners; and one runs each piece
 * of work while it runs. The first is not a daemon: like a scheduler, an elector that
 * contends keeps its process alive until it is stopped.
 * <p>
 * Life: {@link #start()} makes the node known, {@link #contend()} begins to contend,
 * {@link #drain(Runnable)} gives all roles up, {@link #stop()} ends the rest. The elector
 * can be started again, as a new incarnation. Tasks stay registered throughout.
 */
public final class DefaultLeaderElector implements LeaderElector, AutoCloseable {

	private static final Log logger = LogFactory.getLog(DefaultLeaderElector.class);

	private static final SecureRandom INCARNATIONS = new SecureRandom();

	private static final int INCARNATION_BYTES = 6;

	/**
	 * The longest name of a node that is accepted.
	 */
	public static final int MAX_OWNER_NAME_LENGTH = Node.MAX_ID_LENGTH - 2 * INCARNATION_BYTES - 1;

	private static final Pattern OWNER_NAME = Pattern.compile("[^#\\s\\p{Cntrl}]{1," + MAX_OWNER_NAME_LENGTH + "}");

	private static final long FAILURE_PAUSE = Duration.ofMillis(100).toNanos();

	private static final long LISTENER_GRACE = Duration.ofSeconds(1).toNanos();

	private final LeaseStore leaseStore;

	private final @Nullable NodeRegistry nodeRegistry;

	private final @Nullable ReleaseNotifications releaseNotifications;

	private final Function<String, Node> node;

	private final String ownerName;

	private final RoleSettings defaults;

	private final Map<String, RoleSettings> roleSettings;

	private final Duration heartbeatInterval;

	private final long smallestRenewInterval;

	private final Duration drainTimeout;

	private final ThreadFactory workThreads;

	private final ElectionClock clock;

	private final ListenerDispatcher listeners;

	private final ReentrantLock lock = new ReentrantLock();

	private final Condition storeWork = this.lock.newCondition();

	private final Condition timers = this.lock.newCondition();

	private final Condition progress = this.lock.newCondition();

	/**
	 * What has been decided under the lock and is done without it.
	 */
	private List<Runnable> actions = new ArrayList<>();

	private final ElectionCore core;

	private final CountDownLatch closed = new CountDownLatch(1);

	private @Nullable Session session;

	private volatile @Nullable String ownerId;

	private DefaultLeaderElector(Builder builder) {
		this.leaseStore = builder.leaseStore;
		this.nodeRegistry = builder.nodeRegistry;
		this.releaseNotifications = builder.releaseNotifications;
		this.node = builder.node;
		this.ownerName = builder.ownerName;
		this.defaults = builder.defaults;
		this.roleSettings = Map.copyOf(builder.roleSettings);
		this.heartbeatInterval = (builder.heartbeatInterval != null) ? builder.heartbeatInterval
				: this.defaults.renewInterval();
		this.smallestRenewInterval = Stream.concat(Stream.of(this.defaults), this.roleSettings.values().stream())
			.mapToLong((settings) -> settings.renewInterval().toNanos())
			.min()
			.getAsLong();
		this.drainTimeout = builder.drainTimeout;
		this.workThreads = builder.workThreads;
		this.clock = builder.clock;
		this.listeners = new ListenerDispatcher(builder.listeners);
		this.core = new ElectionCore(this.clock, DefaultLeaderElector::random, new Host(),
				(role) -> this.roleSettings.getOrDefault(role, this.defaults), this.drainTimeout);
	}

	/**
	 * Build an elector.
	 * @param leaseStore where the leases are
	 * @return a builder
	 */
	public static Builder builder(LeaseStore leaseStore) {
		return new Builder(leaseStore);
	}

	private static double random() {
		return ThreadLocalRandom.current().nextDouble();
	}

	// Life

	/**
	 * Start as a new incarnation: make the node known. Does nothing if the elector is
	 * running.
	 * @throws IllegalStateException if the elector is closed
	 */
	public void start() {
		locked(() -> {
			if (this.closed.getCount() == 0) {
				throw new IllegalStateException("The elector of '%s' is closed".formatted(this.ownerName));
			}
			if (this.session != null) {
				return;
			}
			byte[] incarnation = new byte[INCARNATION_BYTES];
			INCARNATIONS.nextBytes(incarnation);
			String id = this.ownerName + "#" + HexFormat.of().formatHex(incarnation);
			this.ownerId = id;
			this.core.start(id);
			Session starting = new Session(id);
			try {
				starting.start();
			}
			catch (Throwable ex) {
				// No thread to be had. What has been started ends, and a start can be
				// tried again.
				starting.end();
				throw ex;
			}
			this.session = starting;
		});
	}

	/**
	 * Begin to contend for all roles that are registered, now or later.
	 * @throws IllegalStateException if the elector has not been started
	 */
	public void contend() {
		locked(() -> {
			if (this.session == null) {
				throw new IllegalStateException("The elector of '%s' has not been started".formatted(this.ownerName));
			}
			this.core.contend();
		});
	}

	/**
	 * Give all roles up: tell all work to end, and release each role as soon as its own
	 * work has ended. Leases are renewed meanwhile, for the drain timeout at most.
	 * Returns at once.
	 * @param whenDrained is called once, on another thread, when all is released or what
	 * is left is not worth waiting for
	 */
	public void drain(Runnable whenDrained) {
		Objects.requireNonNull(whenDrained, "'whenDrained' must not be null");
		locked(this.core::stop);
		Thread thread = new Thread(() -> {
			try {
				awaitDrained();
			}
			finally {
				whenDrained.run();
			}
		}, "fenced-leadership-drain");
		thread.setDaemon(true);
		thread.start();
	}

	/**
	 * Stop: {@link #drain(Runnable) drain} and wait for it, renew nothing any more,
	 * remove the node from the registry, and wait until the listeners have been told.
	 * Work that will not end is left behind with its lease, which lapses; so is work that
	 * calls this method, as it cannot end before. A listener that does not return within
	 * the drain timeout, or a second after all else, is left behind too. Does nothing if
	 * the elector is not running.
	 */
	public void stop() {
		Session stopping = locked(() -> {
			if (this.session != null) {
				this.core.stop();
			}
			return this.session;
		});
		if (stopping == null) {
			return;
		}
		awaitDrained();
		locked(() -> {
			if (this.session == stopping) {
				this.core.activeWork().forEach((work) -> this.actions.add(() -> reportLeftBehind(work)));
				this.core.abandon();
				this.session = null;
				stopping.end();
			}
		});
		stopping.awaitEnd();
		awaitListeners();
	}

	/**
	 * The process may end when the caller returns, and with it the thread that would have
	 * told the listeners of the last revocations.
	 */
	private void awaitListeners() {
		long end = Math.max(locked(this.core::drainingSince) + this.drainTimeout.toNanos(),
				this.clock.nanos() + LISTENER_GRACE);
		boolean interrupted = false;
		boolean told = false;
		long left = end - this.clock.nanos();
		while (!told && left > 0) {
			try {
				told = this.listeners.awaitTold(left);
			}
			catch (InterruptedException ex) {
				interrupted = true;
			}
			left = end - this.clock.nanos();
		}
		if (!told) {
			logger.warn("A listener of leadership has not returned within the drain timeout; it is left behind");
		}
		if (interrupted) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Stop for good. Callers of {@link #run} return.
	 */
	@Override
	public void close() {
		this.closed.countDown();
		stop();
		this.listeners.close();
	}

	/**
	 * Return whether the elector has been started and not been stopped.
	 * @return {@code true} if it is running
	 */
	public boolean isRunning() {
		return locked(() -> this.session != null);
	}

	/**
	 * Wait for the drain. Whoever comes late, as a stop after a drain, waits only for
	 * what is left of the same timeout.
	 */
	private void awaitDrained() {
		awaitUninterruptibly(() -> this.core.drainLeft(this.defaults.renewInterval().toNanos()));
	}

	/**
	 * Wait under the lock until nothing is left to wait for. An interrupt does not cut
	 * the wait short: what is waited for is bounded, and leaving earlier would leave a
	 * lease behind.
	 * @param left how many nanoseconds to wait at most, 0 to end the wait
	 */
	private void awaitUninterruptibly(LongSupplier left) {
		boolean interrupted = false;
		this.lock.lock();
		try {
			long nanos = left.getAsLong();
			while (nanos > 0) {
				try {
					this.progress.awaitNanos(nanos);
				}
				catch (InterruptedException ex) {
					interrupted = true;
				}
				nanos = left.getAsLong();
			}
		}
		finally {
			this.lock.unlock();
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}
	}

	private void reportLeftBehind(ActiveWork work) {
		logger.warn(
				"Work '%s' of role '%s' has not ended within the drain timeout '%s'. It is left behind, and its lease left to lapse.%s"
					.formatted(work.task().description(), work.role(), this.drainTimeout, stackOf(work)));
	}

	// LeaderElector

	@Override
	public String ownerId() {
		String id = this.ownerId;
		if (id == null) {
			throw new IllegalStateException("The elector of '%s' has never been started".formatted(this.ownerName));
		}
		return id;
	}

	@Override
	public Registration register(LeaderTask task) {
		Objects.requireNonNull(task, "'task' must not be null");
		Interest interest = locked(() -> this.core.register(task));
		return () -> unregister(interest);
	}

	private void unregister(Interest interest) {
		boolean fromWork = workOfCallingThread(interest.task().role()) != null;
		locked(() -> this.core.unregister(interest));
		if (fromWork) {
			// It would wait for itself.
			return;
		}
		long start = this.clock.nanos();
		long limit = this.drainTimeout.plus(this.defaults.renewInterval()).toNanos();
		// What a stop has left behind has had its time.
		awaitUninterruptibly(() -> (this.session == null || this.core.isGone(interest)) ? 0
				: Math.max(0, limit - (this.clock.nanos() - start)));
	}

	@Override
	public void run(String role, LeaderWork work) throws InterruptedException {
		Registration registration = register(LeaderTask.of(role, work));
		try {
			this.closed.await();
		}
		finally {
			registration.close();
		}
	}

	@Override
	public Optional<Scope> enter(String role) {
		ActiveWork outer = workOfCallingThread(role);
		if (outer != null) {
			// The thread is work of the term already, and stays so for its outer scope.
			return outer.isHeld() ? Optional.of(new NestedScope(outer)) : Optional.empty();
		}
		this.lock.lock();
		try {
			ActiveWork work = this.core.enter(role);
			return Optional.ofNullable(work).map(WorkScope::new);
		}
		finally {
			this.lock.unlock();
		}
	}

	private @Nullable ActiveWork workOfCallingThread(String role) {
		return (Leadership.current(role).orElse(null) instanceof ActiveWork work
				&& work.thread() == Thread.currentThread() && work.term().clock() == this.clock) ? work : null;
	}

	@Override
	public boolean stepDown(String role) {
		return locked(() -> this.core.stepDown(role));
	}

	@Override
	public List<RoleStatus> statuses() {
		return locked(() -> List.copyOf(this.core.statuses()));
	}

	@Override
	public Optional<RoleStatus> status(String role) {
		return locked(() -> Optional.ofNullable(this.core.status(role)));
	}

	// Work

	private void startWork(ActiveWork work) {
		try {
			Thread thread = this.workThreads.newThread(() -> doWork(work));
			thread.start();
		}
		catch (Throwable ex) {
			workEnded(work, ex);
		}
	}

	private void doWork(ActiveWork work) {
		LeaderWork body = Objects.requireNonNull(work.task().work());
		Throwable failure = null;
		try {
			// Not held if the machine was suspended between the grant and now.
			if (work.begin() && work.isHeld()) {
				try (FencingContext.Scope scope = FencingContext.enter(work)) {
					body.lead(work);
				}
			}
		}
		catch (Throwable ex) {
			failure = ex;
		}
		work.finish();
		workEnded(work, failure);
	}

	private void workEnded(ActiveWork work, @Nullable Throwable failure) {
		if (failure != null) {
			runContained(() -> logFailure(work, failure));
		}
		locked(() -> this.core.workEnded(work, failure));
	}

	private static void logFailure(ActiveWork work, Throwable failure) {
		if (work.isHeld()) {
			logger.warn("Work '%s' of role '%s' failed".formatted(work.task().description(), work.role()), failure);
		}
		else if (logger.isDebugEnabled()) {
			logger.debug("Work '%s' of role '%s' ended with an exception after it was told to end"
				.formatted(work.task().description(), work.role()), failure);
		}
	}

	private static String stackOf(ActiveWork work) {
		Thread thread = work.thread();
		if (thread == null) {
			return "";
		}
		StringBuilder stack = new StringBuilder(" Thread '").append(thread.getName()).append("' is at:");
		for (StackTraceElement element : thread.getStackTrace()) {
			stack.append(System.lineSeparator()).append("\tat ").append(element);
		}
		return stack.toString();
	}

	// The lock

	private void locked(Runnable change) {
		locked(() -> {
			change.run();
			return null;
		});
	}

	private <T extends @Nullable Object> T locked(Supplier<T> change) {
		List<Runnable> decided = List.of();
		this.lock.lock();
		try {
			return change.get();
		}
		finally {
			try {
				if (this.core.takeChanged()) {
					// Only then: the threads that are woken here come through here too.
					this.storeWork.signalAll();
					this.timers.signalAll();
				}
				this.progress.signalAll();
				if (!this.actions.isEmpty()) {
					decided = this.actions;
					this.actions = new ArrayList<>();
				}
			}
			finally {
				this.lock.unlock();
			}
			// Also after a failure: what was decided before it has happened.
			decided.forEach(DefaultLeaderElector::runContained);
		}
	}

	private static void runContained(Runnable action) {
		try {
			action.run();
		}
		catch (Throwable ex) {
			logFailure(ex);
		}
	}

	/**
	 * Log a failure that must not stop its thread, not even if it cannot be logged.
	 */
	private static void logFailure(Throwable failure) {
		try {
			logger.error("Unexpected failure of the elector, which goes on", failure);
		}
		catch (Throwable ex) {
			// There is nothing left to tell it to.
		}
	}

	/**
	 * Carries out what the core decides. Called under the lock.
	 */
	private final class Host implements ElectionCore.Host {

		@Override
		public void start(ActiveWork work) {
			DefaultLeaderElector.this.actions.add(() -> startWork(work));
		}

		@Override
		public void interrupt(ActiveWork work) {
			DefaultLeaderElector.this.actions.add(work::interrupt);
		}

		@Override
		public void granted(FencingToken token, Duration ttl) {
			DefaultLeaderElector.this.listeners.granted(token);
			DefaultLeaderElector.this.actions.add(() -> logger.info("Leading role '%s' with fencing token '%d' as '%s'"
				.formatted(token.role(), token.value(), DefaultLeaderElector.this.ownerId)));
		}

		@Override
		public void revoked(FencingToken token, RevocationReason reason, @Nullable String detail) {
			DefaultLeaderElector.this.listeners.revoked(token, reason);
			String message = "No longer leading role '%s' with fencing token '%d': %s%s".formatted(token.role(),
					token.value(), reason, (detail != null) ? " (" + detail + ")" : "");
			DefaultLeaderElector.this.actions.add(() -> {
				switch (reason) {
					case LEASE_LOST, DEADLINE_PASSED, CLOCK_JUMPED -> logger.warn(message);
					default -> logger.info(message);
				}
			});
		}

		@Override
		public void stalled(ActiveWork work, Duration silence) {
			String stack = stackOf(work);
			DefaultLeaderElector.this.actions.add(() -> logger
				.warn("Work '%s' of role '%s' has shown no progress for '%s' and loses its leadership.%s"
					.formatted(work.task().description(), work.role(), silence, stack)));
		}

		@Override
		public void silent(ActiveWork work, Duration silence) {
			String stack = stackOf(work);
			DefaultLeaderElector.this.actions.add(() -> logger.warn(
					"Work '%s' of role '%s' has shown no progress for '%s'. If that is too long, set a stall timeout for the role and call 'Leadership.progress()' from the work.%s"
						.formatted(work.task().description(), work.role(), silence, stack)));
		}

	}

	/**
	 * A thread in a term.
	 */
	private final class WorkScope implements Scope {

		private final ActiveWork work;

		private final FencingContext.Scope context;

		private boolean open = true;

		WorkScope(ActiveWork work) {
			this.work = work;
			if (!work.begin()) {
				Thread.currentThread().interrupt();
			}
			this.context = FencingContext.enter(work);
		}

		@Override
		public Leadership leadership() {
			return this.work;
		}

		@Override
		public void close() {
			if (this.work.thread() != Thread.currentThread()) {
				throw new IllegalStateException(
						"The scope of role '%s' was opened by thread '%s' and must be closed by it"
							.formatted(this.work.role(), this.work.thread()));
			}
			if (this.open) {
				this.open = false;
				this.context.close();
				this.work.finish();
				locked(() -> DefaultLeaderElector.this.core.workEnded(this.work, null));
			}
		}

	}

	private record NestedScope(ActiveWork work) implements Scope {

		@Override
		public Leadership leadership() {
			return this.work;
		}

		@Override
		public void close() {
			// The outer scope is closed by whoever opened it.
		}

	}

	/**
	 * The threads between a start and a stop.
	 */
	private final class Session {

		private final String ownerId;

		private final Thread storeThread;

		private final Thread timerThread;

		private final StoreDialogue dialogue;

		private boolean ended;

		private boolean heartbeatFailing;

		private @Nullable Subscription releases;

		private final StoreClockWatch storeClock = new StoreClockWatch();

		private final StoreTokenWatch storeTokens = new StoreTokenWatch();

		Session(String ownerId) {
			this.ownerId = ownerId;
			this.dialogue = new StoreDialogue(ownerId, DefaultLeaderElector.this.core, DefaultLeaderElector.this.clock,
					DefaultLeaderElector::random, DefaultLeaderElector.this.smallestRenewInterval / 4,
					(DefaultLeaderElector.this.nodeRegistry != null)
							? DefaultLeaderElector.this.heartbeatInterval.toNanos() : RoleState.NEVER);
			this.storeThread = new Thread(this::talkToStore, "fenced-leadership-renewal");
			this.timerThread = new Thread(this::watchDeadlines, "fenced-leadership-deadline");
			this.storeThread.setDaemon(false);
			this.timerThread.setDaemon(true);
		}

		void start() {
			this.storeThread.start();
			this.timerThread.start();
			subscribe();
		}

		private void subscribe() {
			ReleaseNotifications notifications = DefaultLeaderElector.this.releaseNotifications;
			if (notifications == null) {
				return;
			}
			try {
				this.releases = notifications
					.subscribe((roles) -> locked(() -> DefaultLeaderElector.this.core.vacated(roles)));
			}
			catch (Throwable ex) {
				logger.warn("Releases by other nodes are not told, and standbys poll", ex);
			}
		}

		void awaitEnd() {
			if (Thread.currentThread() == this.storeThread) {
				return;
			}
			long limit = DefaultLeaderElector.this.drainTimeout.toMillis() + 1000;
			boolean interrupted = Thread.interrupted();
			try {
				this.storeThread.join(limit);
				if (this.storeThread.isAlive()) {
					logger.warn("A call of the store has not returned within the drain timeout; it is left behind");
					this.storeThread.interrupt();
				}
			}
			catch (InterruptedException ex) {
				interrupted = true;
			}
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}

		/**
		 * Called under the lock.
		 */
		void end() {
			this.ended = true;
			if (this.releases != null) {
				DefaultLeaderElector.this.actions.add(this.releases::close);
			}
			DefaultLeaderElector.this.storeWork.signalAll();
			DefaultLeaderElector.this.timers.signalAll();
		}

		// The deadline thread

		private void watchDeadlines() {
			boolean running = true;
			while (running) {
				try {
					running = locked(this::awaitAndTick);
				}
				catch (Throwable ex) {
					logFailure(ex);
					LockSupport.parkNanos(FAILURE_PAUSE);
				}
			}
		}

		private boolean awaitAndTick() {
			if (!this.ended) {
				awaitUntil(DefaultLeaderElector.this.timers, DefaultLeaderElector.this.core.nextTimer());
				DefaultLeaderElector.this.core.tick();
			}
			return !this.ended;
		}

		/**
		 * Wait for an instant or a change; the callers look again at what they wait for.
		 */
		@SuppressWarnings("WaitNotInLoop")
		private void awaitUntil(Condition condition, long instant) {
			try {
				long left = instant - DefaultLeaderElector.this.clock.nanos();
				if (left > 0) {
					condition.awaitNanos(left);
				}
			}
			catch (InterruptedException ex) {
				// Nobody has a reason to interrupt these threads, and they must not stop.
			}
		}

		// The renewal thread

		private void talkToStore() {
			boolean running = true;
			boolean failed = false;
			while (running) {
				try {
					if (failed) {
						locked(this::forgetRequests);
						failed = false;
					}
					StoreDialogue.Turn turn = locked(this::awaitTurn);
					running = turn != null;
					if (turn != null) {
						take(turn);
					}
				}
				catch (Throwable ex) {
					failed = true;
					logFailure(ex);
					LockSupport.parkNanos(FAILURE_PAUSE);
				}
			}
			deregister();
		}

		private void forgetRequests() {
			if (!this.ended) {
				this.dialogue.forget();
			}
		}

		private StoreDialogue.@Nullable Turn awaitTurn() {
			while (!this.ended) {
				StoreDialogue.Turn turn = this.dialogue.nextTurn();
				if (turn != null) {
					return turn;
				}
				awaitUntil(DefaultLeaderElector.this.storeWork, this.dialogue.nextInstant());
			}
			return null;
		}

		private void take(StoreDialogue.Turn turn) {
			turn.calls().forEach(this::carryOut);
			if (turn.heartbeat()) {
				heartbeat();
			}
		}

		private void carryOut(StoreCall call) {
			long sentAt = DefaultLeaderElector.this.clock.nanos();
			StoreCall.Answer answer;
			try {
				answer = call.carryOut(DefaultLeaderElector.this.leaseStore);
			}
			catch (Throwable ex) {
				logOutage(ex);
				locked(() -> this.dialogue.failed(call));
				return;
			}
			long answeredAt = DefaultLeaderElector.this.clock.nanos();
			int failed = locked(() -> this.dialogue.answered(answer));
			if (failed > 0) {
				logger.info("The lease store answers again after %d failed call(s)".formatted(failed));
			}
			observe(answer.leaseResults(), sentAt, answeredAt);
		}

		private void logOutage(Throwable failure) {
			if (this.dialogue.isFailing()) {
				logger.debug("The lease store does not answer", failure);
			}
			else {
				logger.warn(
						"The lease store does not answer. Roles that are led are kept until their deadline, and contention goes on",
						failure);
			}
		}

		private void observe(Collection<LeaseResult> results, long sentAt, long answeredAt) {
			results.stream()
				.flatMap((result) -> storeTime(result).stream())
				.findFirst()
				.flatMap((storeTime) -> this.storeClock.observe(storeTime, sentAt, answeredAt))
				.ifPresent((step) -> logger.warn(
						"The clock of the lease store was set back by about '%s'. Leases last so much longer, also those of leaders that are gone"
							.formatted(step)));
			results.forEach((result) -> this.storeTokens.observe(result)
				.ifPresent((before) -> logger.warn(
						"The lease store has gone back from fencing token '%d' to '%d' for role '%s': it was restored, or failed over to a replica that had not caught up, and what was committed last is lost. New terms are above all that this node has seen, but other nodes may be granted lost tokens again. Raise the tokens in the table of the leases if writes are fenced anywhere else"
							.formatted(before, result.fencingToken(), result.role()))));
		}

		private static Optional<Instant> storeTime(LeaseResult result) {
			Instant expiresAt = result.expiresAt();
			// Of a lease that has lapsed it is not known for how long.
			return (expiresAt != null && !result.remaining().isZero())
					? Optional.of(expiresAt.minus(result.remaining())) : Optional.empty();
		}

		private void heartbeat() {
			NodeRegistry registry = Objects.requireNonNull(DefaultLeaderElector.this.nodeRegistry);
			try {
				registry.heartbeat(DefaultLeaderElector.this.node.apply(this.ownerId));
				this.heartbeatFailing = false;
			}
			catch (Throwable ex) {
				if (!this.heartbeatFailing) {
					logger.warn(
							"The node registry does not answer. Other nodes will miss this one; leadership does not depend on it",
							ex);
				}
				this.heartbeatFailing = true;
			}
		}

		private void deregister() {
			if (DefaultLeaderElector.this.nodeRegistry == null) {
				return;
			}
			try {
				DefaultLeaderElector.this.nodeRegistry.deregister(this.ownerId);
			}
			catch (Throwable ex) {
				logger.warn("Node '%s' could not be removed from the registry; it will lapse".formatted(this.ownerId),
						ex);
			}
		}

	}

	/**
	 * Builds a {@link DefaultLeaderElector}.
	 */
	public static final class Builder {

		private final LeaseStore leaseStore;

		private @Nullable NodeRegistry nodeRegistry;

		private @Nullable ReleaseNotifications releaseNotifications;

		private Function<String, Node> node = Builder::thisProcess;

		private String ownerName = hostName();

		private RoleSettings defaults = RoleSettings.of(RoleSettings.DEFAULT_LEASE_TTL);

		private Map<String, RoleSettings> roleSettings = Map.of();

		private @Nullable Duration heartbeatInterval;

		private Duration drainTimeout = Duration.ofSeconds(20);

		private ThreadFactory workThreads = new WorkThreadFactory();

		private ElectionClock clock = ElectionClock.system();

		private final List<LeadershipListener> listeners = new ArrayList<>();

		private Builder(LeaseStore leaseStore) {
			this.leaseStore = Objects.requireNonNull(leaseStore, "'leaseStore' must not be null");
		}

		/**
		 * Make the node known to a registry, with what a process knows of itself.
		 * @param nodeRegistry the registry
		 * @return this builder
		 */
		public Builder nodeRegistry(NodeRegistry nodeRegistry) {
			this.nodeRegistry = nodeRegistry;
			return this;
		}

		/**
		 * Have the node told when a role was released. Without, or where nothing is told,
		 * it notices at its next poll.
		 * @param releaseNotifications the notifications
		 * @return this builder
		 */
		public Builder releaseNotifications(ReleaseNotifications releaseNotifications) {
			this.releaseNotifications = releaseNotifications;
			return this;
		}

		/**
		 * Set how the node describes itself to the registry.
		 * @param node from owner id to node
		 * @return this builder
		 */
		public Builder node(Function<String, Node> node) {
			this.node = node;
			return this;
		}

		/**
		 * Set the name of the node, the first part of its owner id. The host name by
		 * default.
		 * @param ownerName 1 to {@value DefaultLeaderElector#MAX_OWNER_NAME_LENGTH}
		 * characters
		 * @return this builder
		 * @throws IllegalArgumentException if the name is empty, too long, or has a
		 * {@code #} or a control character
		 */
		public Builder ownerName(String ownerName) {
			if (!OWNER_NAME.matcher(ownerName).matches()) {
				throw new IllegalArgumentException(
						"Owner name '%s' must have 1 to %d characters and neither '#' nor blanks nor control characters"
							.formatted(ownerName, MAX_OWNER_NAME_LENGTH));
			}
			this.ownerName = ownerName;
			return this;
		}

		/**
		 * Set the settings of roles that have none of their own.
		 * @param defaults the settings
		 * @return this builder
		 */
		public Builder settings(RoleSettings defaults) {
			this.defaults = defaults;
			return this;
		}

		/**
		 * Set the settings of single roles.
		 * @param roleSettings the settings by role
		 * @return this builder
		 */
		public Builder roleSettings(Map<String, RoleSettings> roleSettings) {
			this.roleSettings = roleSettings;
			return this;
		}

		/**
		 * Set how often the node reports that it is alive. The renew interval by default.
		 * @param heartbeatInterval the interval
		 * @return this builder
		 */
		public Builder heartbeatInterval(Duration heartbeatInterval) {
			RoleSettings.requireBetween(heartbeatInterval, Duration.ofMillis(1), "heartbeat interval");
			this.heartbeatInterval = heartbeatInterval;
			return this;
		}

		/**
		 * Set for how long a stop or a step-down waits for work to end, while its lease
		 * is still renewed. 20 seconds by default.
		 * @param drainTimeout the timeout
		 * @return this builder
		 */
		public Builder drainTimeout(Duration drainTimeout) {
			RoleSettings.requireBetween(drainTimeout, Duration.ZERO, "drain timeout");
			this.drainTimeout = drainTimeout;
			return this;
		}

		/**
		 * Set where the threads of work come from, one per piece of work that runs.
		 * Daemon threads by default.
		 * @param workThreads makes a new thread at every call
		 * @return this builder
		 */
		public Builder workThreads(ThreadFactory workThreads) {
			this.workThreads = workThreads;
			return this;
		}

		/**
		 * Add a listener.
		 * @param listener the listener
		 * @return this builder
		 */
		public Builder listener(LeadershipListener listener) {
			this.listeners.add(Objects.requireNonNull(listener, "'listener' must not be null"));
			return this;
		}

		Builder clock(ElectionClock clock) {
			this.clock = clock;
			return this;
		}

		/**
		 * Build the elector, which is not started.
		 * @return a new elector
		 */
		public DefaultLeaderElector build() {
			return new DefaultLeaderElector(this);
		}

		private static Node thisProcess(String id) {
			Instant startedAt = ProcessHandle.current().info().startInstant().orElse(Instant.EPOCH);
			return new Node(id, hostName(), ProcessHandle.current().pid(), null, startedAt, startedAt);
		}

		private static String hostName() {
			try {
				String name = InetAddress.getLocalHost().getHostName().replaceAll("[#\\s\\p{Cntrl}]", "-");
				return name.substring(0, Math.min(name.length(), MAX_OWNER_NAME_LENGTH));
			}
			catch (UnknownHostException ex) {
				return "localhost";
			}
		}

	}

	private static final class WorkThreadFactory implements ThreadFactory {

		private final AtomicInteger count = new AtomicInteger();

		@Override
		public Thread newThread(Runnable work) {
			Thread thread = new Thread(work, "fenced-leadership-work-" + this.count.incrementAndGet());
			thread.setDaemon(true);
			return thread;
		}

	}

}
