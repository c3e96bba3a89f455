/**
 * Runs a cluster of the sample on one machine: a PostgreSQL and several nodes, as
 * processes that never outlive the one that started them. Nothing to copy from, and
 * nothing that the sample itself knows of. Free of Spring.
 */
@NullMarked
package io.github.fencedleadership.sample.launcher;

import org.jspecify.annotations.NullMarked;
