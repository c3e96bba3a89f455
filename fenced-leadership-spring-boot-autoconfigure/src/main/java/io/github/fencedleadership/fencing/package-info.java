/**
 * Fencing tokens: the number that orders the terms of a role. Plain Java, nothing of
 * Spring.
 */
@NullMarked
package io.github.fencedleadership.fencing;

import org.jspecify.annotations.NullMarked;
