package io.github.fencedleadership.sample.launcher;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;

import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Entries;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Refusal;
import io.github.fencedleadership.sample.launcher.ClusterSnapshot.Term;

/**
 * Reads what the nodes have written. For use by one thread at a time.
 */
final class LedgerReader {

	private static final String TERMS = """
			SELECT ledger.role, ledger.fencing_token, ledger.node, term.entries, ledger.entry, ledger.written_at
			FROM (SELECT count(*) AS entries, max(id) AS last FROM ledger GROUP BY role, fencing_token, node) AS term
			JOIN ledger ON ledger.id = term.last ORDER BY ledger.id DESC
			""";

	private static final String REFUSALS = """
			SELECT id, refused_at, resource, fencing_token, newer_token, node, entry
			FROM ledger_refusal ORDER BY id DESC LIMIT 20
			""";

	/**
	 * No table: no node has got so far yet.
	 */
	private static final String UNDEFINED_TABLE = "42P01";

	private final String jdbcUrl;

	LedgerReader(String jdbcUrl) {
		this.jdbcUrl = jdbcUrl + "?connectTimeout=2&socketTimeout=2";
	}

	/**
	 * Read what is there, within a few seconds.
	 * @return what is there, or why that cannot be told
	 */
	Entries read() {
		try (Connection connection = DriverManager.getConnection(this.jdbcUrl, "postgres", "");
				Statement statement = connection.createStatement()) {
			return new Entries(readTerms(statement), readRefusals(statement), null);
		}
		catch (SQLException ex) {
			return UNDEFINED_TABLE.equals(ex.getSQLState()) ? Entries.NONE
					: new Entries(List.of(), List.of(), String.valueOf(ex.getMessage()));
		}
	}

	private static List<Term> readTerms(Statement statement) throws SQLException {
		List<Term> terms = new ArrayList<>();
		try (ResultSet row = statement.executeQuery(TERMS)) {
			while (row.next()) {
				terms.add(new Term(row.getString("role"), row.getLong("fencing_token"),
						NodeReader.nameOf(row.getString("node")), row.getLong("entries"), row.getString("entry"),
						instant(row, "written_at")));
			}
		}
		return terms;
	}

	private static List<Refusal> readRefusals(Statement statement) throws SQLException {
		List<Refusal> refusals = new ArrayList<>();
		try (ResultSet row = statement.executeQuery(REFUSALS)) {
			while (row.next()) {
				refusals.add(new Refusal(row.getLong("id"), instant(row, "refused_at"), row.getString("resource"),
						row.getLong("fencing_token"), row.getLong("newer_token"),
						NodeReader.nameOf(row.getString("node")), row.getString("entry")));
			}
		}
		return refusals;
	}

	private static Instant instant(ResultSet row, String column) throws SQLException {
		return row.getObject(column, OffsetDateTime.class).toInstant();
	}

}
