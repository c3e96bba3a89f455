/**
 * {@code @FencedLeader}: a post-processor finds annotated methods, start-up validation
 * rejects those that it could not fence, a registry knows the others, and each of them is
 * either run once per term or gated by it.
 */
@NullMarked
package io.github.fencedleadership.annotation;

import org.jspecify.annotations.NullMarked;
