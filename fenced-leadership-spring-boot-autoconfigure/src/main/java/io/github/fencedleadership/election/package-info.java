/**
 * Election: a pure state machine per role, in a thin shell that owns the threads, the
 * clocks and the calls to the store. Plain Java, nothing of Spring.
 */
@NullMarked
package io.github.fencedleadership.election;

import org.jspecify.annotations.NullMarked;
