/**
 * Leases and membership in a relational database: PostgreSQL, MariaDB, MySQL, H2. Knows
 * nothing of elections.
 */
@NullMarked
package io.github.fencedleadership.jdbc;

import org.jspecify.annotations.NullMarked;
