/**
 * An application with two jobs of which only one of its nodes does each, at any time.
 */
@NullMarked
package io.github.fencedleadership.sample;

import org.jspecify.annotations.NullMarked;
