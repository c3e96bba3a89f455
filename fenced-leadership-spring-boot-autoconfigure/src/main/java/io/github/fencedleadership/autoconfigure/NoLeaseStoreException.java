package io.github.fencedleadership.autoconfigure;

import java.util.Locale;

import io.github.fencedleadership.autoconfigure.FencedLeadershipProperties.StoreType;

/**
 * Thrown at start-up if there is nowhere to keep leases.
 */
@SuppressWarnings("serial")
class NoLeaseStoreException extends RuntimeException {

	NoLeaseStoreException(StoreType store) {
		super("Property 'fenced-leadership.store' is '%s', which keeps leases in a database, and no 'LeaseStore' could be made of a DataSource"
			.formatted(store.name().toLowerCase(Locale.ROOT)));
	}

}
