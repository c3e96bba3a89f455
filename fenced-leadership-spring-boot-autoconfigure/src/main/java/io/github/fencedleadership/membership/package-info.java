/**
 * Heartbeat membership: which nodes are alive by the store's clock. Plain Java, nothing
 * of Spring.
 */
@NullMarked
package io.github.fencedleadership.membership;

import org.jspecify.annotations.NullMarked;
