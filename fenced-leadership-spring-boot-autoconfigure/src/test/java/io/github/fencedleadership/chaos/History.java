package io.github.fencedleadership.chaos;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;

import io.github.fencedleadership.jdbc.TestDatabase;
import io.github.fencedleadership.jdbc.TestSchema;

/**
 * All that is known of one run: what the nodes said, what the database did to the leases
 * and to the register that is written to, and how the database's clock compares with the
 * monotonic clock of the machine, so that everything has the database's time.
 */
final class History {

	private static final int NEIGHBOURS = 3;

	private final Queue<HistoryEvent> events = new ConcurrentLinkedQueue<>();

	private final ConcurrentSkipListMap<Long, ClockSample> clock = new ConcurrentSkipListMap<>();

	private final Queue<ExpectedSuccessor> expectedSuccessors = new ConcurrentLinkedQueue<>();

	private final Queue<Term> expectedReleases = new ConcurrentLinkedQueue<>();

	private List<LeaseRow> leases = List.of();

	private List<Write> writes = List.of();

	private Map<String, String> heads = Map.of();

	void add(HistoryEvent event) {
		this.events.add(event);
	}

	void add(ClockSample sample) {
		this.clock.put(sample.before(), sample);
	}

	/**
	 * Expect that a term has a successor soon.
	 * @param expected the term, when it ended, and how soon
	 */
	void expect(ExpectedSuccessor expected) {
		this.expectedSuccessors.add(expected);
	}

	/**
	 * Expect that a term is released, rather than left to lapse.
	 * @param term the term
	 */
	void expectRelease(Term term) {
		this.expectedReleases.add(term);
	}

	void setDatabase(List<LeaseRow> leases, List<Write> writes, Map<String, String> heads) {
		this.leases = List.copyOf(leases);
		this.writes = List.copyOf(writes);
		this.heads = Map.copyOf(heads);
	}

	Collection<HistoryEvent> events() {
		return this.events;
	}

	List<LeaseRow> leases() {
		return this.leases;
	}

	List<Write> writes() {
		return this.writes;
	}

	Map<String, String> heads() {
		return this.heads;
	}

	Collection<ExpectedSuccessor> expectedSuccessors() {
		return this.expectedSuccessors;
	}

	Collection<Term> expectedReleases() {
		return this.expectedReleases;
	}

	/**
	 * Return the earliest that the database's clock can have shown.
	 * @param nanos a reading of the monotonic clock
	 * @return microseconds since the epoch
	 */
	long earliest(long nanos) {
		return Math.floorDiv(neighbours(nanos).stream().mapToLong(ClockSample::leastOffset).min().orElseThrow() + nanos,
				1000);
	}

	/**
	 * Return the latest that the database's clock can have shown.
	 * @param nanos a reading of the monotonic clock
	 * @return microseconds since the epoch
	 */
	long latest(long nanos) {
		return Math.floorDiv(neighbours(nanos).stream().mapToLong(ClockSample::mostOffset).max().orElseThrow() + nanos,
				1000) + 1;
	}

	/**
	 * Samples on both sides, for the clocks need not run at the same rate.
	 */
	private List<ClockSample> neighbours(long nanos) {
		List<ClockSample> result = new ArrayList<>();
		this.clock.headMap(nanos).descendingMap().values().stream().limit(NEIGHBOURS).forEach(result::add);
		this.clock.tailMap(nanos).values().stream().limit(NEIGHBOURS).forEach(result::add);
		return result;
	}

	// The database

	/**
	 * Create what the nodes write to, and what keeps the history of the leases.
	 * @param schema where
	 * @param roles the roles
	 */
	static void createTables(TestSchema schema, Collection<String> roles) {
		boolean postgres = schema.database() == TestDatabase.POSTGRESQL;
		String time = postgres ? "TIMESTAMP(6) WITH TIME ZONE" : "DATETIME(6)";
		schema.execute("""
				CREATE TABLE chaos_lease (id BIGINT %s PRIMARY KEY, role VARCHAR(100) NOT NULL,
					owner_id VARCHAR(150) NOT NULL, fencing_token BIGINT NOT NULL, acquired_at %s NOT NULL,
					expires_at %s NOT NULL)""".formatted(postgres ? "GENERATED ALWAYS AS IDENTITY" : "AUTO_INCREMENT",
				time, time));
		String insert = """
				INSERT INTO chaos_lease (role, owner_id, fencing_token, acquired_at, expires_at)
				VALUES (NEW.role, NEW.owner_id, NEW.fencing_token, NEW.acquired_at, NEW.expires_at)""";
		if (postgres) {
			schema.execute("CREATE FUNCTION chaos_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + insert
					+ "; RETURN NULL; END $$");
			schema.execute("""
					CREATE TRIGGER chaos_log AFTER INSERT OR UPDATE ON fenced_lease
					FOR EACH ROW EXECUTE FUNCTION chaos_log()""");
		}
		else {
			for (String change : List.of("INSERT", "UPDATE")) {
				schema.execute("CREATE TRIGGER chaos_log_%s AFTER %s ON fenced_lease FOR EACH ROW %s".formatted(change,
						change, insert));
			}
		}
		schema.execute("""
				CREATE TABLE chaos_register (role VARCHAR(100) PRIMARY KEY, head VARCHAR(200) NOT NULL,
					version BIGINT NOT NULL, touched BIGINT NOT NULL)""");
		roles.forEach((role) -> schema
			.execute("INSERT INTO chaos_register VALUES ('%s', '%s', 0, 0)".formatted(role, Write.NONE)));
		schema.execute("""
				CREATE TABLE chaos_write (role VARCHAR(100) NOT NULL, version BIGINT NOT NULL,
					element VARCHAR(200) NOT NULL, previous VARCHAR(200) NOT NULL, fencing_token BIGINT NOT NULL,
					PRIMARY KEY (role, version))""");
	}

	/**
	 * Read what the database did.
	 * @param schema where
	 */
	void readFrom(TestSchema schema) {
		try (Connection connection = DriverManager.getConnection(schema.url(), schema.username(), schema.password());
				Statement statement = connection.createStatement()) {
			List<LeaseRow> leases = new ArrayList<>();
			try (ResultSet row = statement
				.executeQuery("SELECT role, owner_id, fencing_token, %s, %s FROM chaos_lease ORDER BY id"
					.formatted(micros(schema.database(), "acquired_at"), micros(schema.database(), "expires_at")))) {
				while (row.next()) {
					leases.add(new LeaseRow(row.getString(1), row.getString(2), row.getLong(3), row.getLong(4),
							row.getLong(5)));
				}
			}
			List<Write> writes = new ArrayList<>();
			try (ResultSet row = statement.executeQuery(
					"SELECT role, version, element, previous, fencing_token FROM chaos_write ORDER BY role, version")) {
				while (row.next()) {
					writes.add(new Write(row.getString(1), row.getLong(2), row.getString(3), row.getString(4),
							row.getLong(5)));
				}
			}
			Map<String, String> heads = new HashMap<>();
			try (ResultSet row = statement.executeQuery("SELECT role, head FROM chaos_register")) {
				while (row.next()) {
					heads.put(row.getString(1), row.getString(2));
				}
			}
			setDatabase(leases, writes, heads);
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * Look at the database's clock.
	 * @param statement speaks to the database
	 * @param database the kind of database
	 * @return the sample
	 * @throws SQLException if the database does not answer
	 */
	static ClockSample sampleClock(Statement statement, TestDatabase database) throws SQLException {
		String now = (database == TestDatabase.POSTGRESQL) ? "clock_timestamp()" : "UTC_TIMESTAMP(6)";
		long before = System.nanoTime();
		try (ResultSet row = statement.executeQuery("SELECT " + micros(database, now))) {
			row.next();
			return new ClockSample(before, System.nanoTime(), row.getLong(1));
		}
	}

	private static String micros(TestDatabase database, String instant) {
		return (database == TestDatabase.POSTGRESQL) ? "(extract(epoch FROM %s) * 1000000)::bigint".formatted(instant)
				: "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', %s)".formatted(instant);
	}

	/**
	 * One change of a lease, in the order of their commits.
	 *
	 * @param role the role
	 * @param owner the owner
	 * @param token the token
	 * @param acquiredAt when the term began, in microseconds by the database's clock
	 * @param expiresAt when it lapses, likewise
	 */
	record LeaseRow(String role, String owner, long token, long acquiredAt, long expiresAt) {

	}

	/**
	 * A write to the register of a role: it read what the write before had left, and put
	 * itself in its place.
	 *
	 * @param role the role
	 * @param version counts the commits
	 * @param element what was written
	 * @param previous what had been read
	 * @param token the token it was written with
	 */
	record Write(String role, long version, String element, String previous, long token) {

		static final String NONE = "none";

	}

	/**
	 * A term of a role.
	 *
	 * @param role the role
	 * @param token its token
	 */
	record Term(String role, long token) {

	}

	/**
	 * That a term has to have a successor.
	 *
	 * @param term the term
	 * @param since when it ended, a reading of the monotonic clock
	 * @param within how soon
	 * @param reason why it ended
	 */
	record ExpectedSuccessor(Term term, long since, Duration within, String reason) {

	}

	/**
	 * A look at the database's clock between two readings of the monotonic clock.
	 *
	 * @param before the reading before
	 * @param after the reading after
	 * @param micros what the database's clock showed
	 */
	record ClockSample(long before, long after, long micros) {

		long leastOffset() {
			return this.micros * 1000 - this.after;
		}

		/** The database cuts off what is less than a microsecond. */
		long mostOffset() {
			return this.micros * 1000 + 999 - this.before;
		}

	}

}
