package io.github.fencedleadership.jdbc;

import javax.sql.DataSource;

import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionStatus;

/**
 * Counts what becomes of transactions.
 */
@SuppressWarnings("serial")
public class CountingTransactionManager extends DataSourceTransactionManager {

	private int begun;

	private int committed;

	private int rolledBack;

	public CountingTransactionManager(DataSource dataSource) {
		super(dataSource);
	}

	@Override
	protected void doBegin(Object transaction, TransactionDefinition definition) {
		super.doBegin(transaction, definition);
		this.begun++;
	}

	@Override
	protected void doCommit(DefaultTransactionStatus status) {
		super.doCommit(status);
		this.committed++;
	}

	@Override
	protected void doRollback(DefaultTransactionStatus status) {
		super.doRollback(status);
		this.rolledBack++;
	}

	public int begun() {
		return this.begun;
	}

	public int committed() {
		return this.committed;
	}

	public int rolledBack() {
		return this.rolledBack;
	}

}
