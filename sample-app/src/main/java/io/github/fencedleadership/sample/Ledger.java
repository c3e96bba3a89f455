package io.github.fencedleadership.sample;

import java.util.List;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;

import io.github.fencedleadership.annotation.FencedWrite;
import io.github.fencedleadership.election.LeaderElector;
import io.github.fencedleadership.fencing.FencingToken;

/**
 * What the leaders wrote, each row stamped with the fencing token of the term that it was
 * written in.
 */
@Repository
class Ledger {

	private final JdbcClient jdbcClient;

	private final LeaderElector elector;

	Ledger(JdbcClient jdbcClient, LeaderElector elector) {
		this.jdbcClient = jdbcClient;
		this.elector = elector;
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
