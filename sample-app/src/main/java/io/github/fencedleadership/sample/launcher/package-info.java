/**
 * Runs a cluster of the sample on one machine: a PostgreSQL and several nodes, as
 * processes that never outlive the one that started them, and a page to play with them.
 * Nothing to copy from, and nothing that the sample itself knows of. Free of Spring but
 * for what runs inside of a node.
 */
@NullMarked
package io.github.fencedleadership.sample.launcher;

import org.jspecify.annotations.NullMarked;
