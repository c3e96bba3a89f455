/**
 * Takes the term that code acts in along to other threads, by Micrometer's context
 * propagation. Optional: does nothing without {@code io.micrometer:context-propagation}.
 */
@NullMarked
package io.github.fencedleadership.propagation;

import org.jspecify.annotations.NullMarked;
