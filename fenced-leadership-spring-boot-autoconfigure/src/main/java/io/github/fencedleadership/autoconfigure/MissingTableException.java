package io.github.fencedleadership.autoconfigure;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Thrown at start-up if the database answers and lacks a table.
 */
@SuppressWarnings("serial")
class MissingTableException extends RuntimeException {

	private final String platform;

	MissingTableException(List<String> tables, String platform) {
		super("The database has no %s %s".formatted((tables.size() == 1) ? "table" : "tables",
				tables.stream().map("'%s'"::formatted).collect(Collectors.joining(" and "))));
		this.platform = platform;
	}

	String getPlatform() {
		return this.platform;
	}

}
