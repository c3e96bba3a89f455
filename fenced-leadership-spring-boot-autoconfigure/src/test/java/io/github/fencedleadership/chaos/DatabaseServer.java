package io.github.fencedleadership.chaos;

import io.github.fencedleadership.jdbc.TestSchema;

/**
 * A database server of one's own, to be ill-treated.
 */
interface DatabaseServer extends AutoCloseable {

	/**
	 * Return a schema with all tables, to be reached without a proxy. Another one after
	 * the server has changed its address.
	 * @return the schema
	 */
	TestSchema schema();

	/**
	 * Stop the server in an orderly way, and start it again.
	 * @throws Exception if it does not start
	 */
	void restart() throws Exception;

	/**
	 * Kill the server, and start it again.
	 * @throws Exception if it does not start
	 */
	void crash() throws Exception;

	/**
	 * Refuse to write, or write again.
	 * @param readOnly whether to refuse
	 * @throws Exception if it cannot be told
	 */
	void setReadOnly(boolean readOnly) throws Exception;

	@Override
	void close() throws Exception;

}
