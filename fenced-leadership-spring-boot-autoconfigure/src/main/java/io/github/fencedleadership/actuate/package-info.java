/**
 * Actuator endpoints: what this node is to each role, who leads it, and which nodes live.
 */
@NullMarked
package io.github.fencedleadership.actuate;

import org.jspecify.annotations.NullMarked;
