package io.github.fencedleadership.sample;

import java.time.Duration;
import java.util.List;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;

import io.github.fencedleadership.annotation.FencedWrite;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.fencing.StaleFencingTokenException;

/**
 * What the leaders wrote, each row stamped with the fencing token of the term that it was
 * written in.
 */
@Repository
class Ledger {

	private static final Log logger = LogFactory.getLog(Ledger.class);

	private final JdbcClient jdbcClient;

	private final LeaderElector elector;

	private final Duration preparationTime;

	Ledger(JdbcClient jdbcClient, LeaderElector elector,
			@Value("${sample.preparation-time}") Duration preparationTime) {
		this.jdbcClient = jdbcClient;
		this.elector = elector;
		this.preparationTime = preparationTime;
	}

	/**
	 * Prepare the next entry of a role, which has the number after the last one. Takes
	 * its time and heeds no interrupt, like any long query or call of another service.
	 * @param role the role
	 * @return the entry
	 */
	public String prepareEntry(String role) {
		return this.jdbcClient.sql("""
				SELECT 'entry ' || count(ledger.id) + 1 FROM pg_sleep(?) LEFT JOIN ledger ON ledger.role = ?
				""").params(this.preparationTime.toMillis() / 1000.0, role).query(String.class).single();
	}

	/**
	 * Append a row, in a transaction that begins with the check of the token. A leader
	 * that was frozen in front of this call and wakes up when another one leads is
	 * refused.
	 * @param entry what happened
	 */
	@FencedWrite("ledger")
	public void append(String entry) {
		FencingToken token = FencingToken.current().orElseThrow();
		this.jdbcClient.sql("INSERT INTO ledger (role, fencing_token, node, entry) VALUES (?, ?, ?, ?)")
			.params(token.role(), token.value(), this.elector.ownerId(), entry)
			.update();
	}

	/**
	 * Record that a row was refused, in a transaction of its own.
	 * @param refusal why
	 * @param entry the entry of the row
	 */
	public void recordRefusal(StaleFencingTokenException refusal, String entry) {
		logger.warn("Refused '%s': %s".formatted(entry, refusal.getMessage()));
		this.jdbcClient.sql("""
				INSERT INTO ledger_refusal (resource, role, fencing_token, newer_token, node, entry)
				VALUES (?, ?, ?, ?, ?, ?)
				""")
			.params(refusal.getResource(), refusal.getRole(), refusal.getFencingToken().value(),
					refusal.getNewerToken(), this.elector.ownerId(), entry)
			.update();
	}

	/**
	 * Return how much was written in each term of a role.
	 * @param role the role
	 * @return the terms, the latest first
	 */
	public List<Term> terms(String role) {
		return this.jdbcClient.sql("""
				SELECT fencing_token, node, count(*) AS entries FROM ledger
				WHERE role = ? GROUP BY fencing_token, node ORDER BY fencing_token DESC
				""").param(role).query(Term.class).list();
	}

	/**
	 * What was written in one term.
	 *
	 * @param fencingToken the token of the term
	 * @param node the id of the node that wrote
	 * @param entries the number of its rows
	 */
	record Term(long fencingToken, String node, long entries) {

	}

}
