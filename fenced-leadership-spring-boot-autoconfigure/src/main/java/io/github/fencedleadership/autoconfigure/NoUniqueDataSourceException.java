package io.github.fencedleadership.autoconfigure;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Thrown at start-up if it is not clear which DataSource leases are kept in.
 */
@SuppressWarnings("serial")
class NoUniqueDataSourceException extends RuntimeException {

	NoUniqueDataSourceException(List<String> dataSources) {
		super("It is not clear in which DataSource leases are to be kept: there are %s, and none of them is primary or qualified"
			.formatted(dataSources.stream().map("'%s'"::formatted).collect(Collectors.joining(", "))));
	}

}
