/**
 * Renewable leases: the contract of a store, its records, and the in-memory
 * implementation. Plain Java, nothing of Spring.
 */
@NullMarked
package io.github.fencedleadership.lease;

import org.jspecify.annotations.NullMarked;
