/**
 * What it costs to be elected, measured beside the peers.
 */
@NullMarked
package io.github.fencedleadership.benchmarks;

import org.jspecify.annotations.NullMarked;
