/**
 * {@code @FencedLeader}: a post-processor finds annotated methods, start-up validation
 * rejects those that it could not fence, a registry knows the others, and each of them is
 * either run once per term or gated by it. {@code @FencedWrite}: found and validated in
 * the same way, and checked by the guard inside of a transaction.
 */
@NullMarked
package io.github.fencedleadership.annotation;

import org.jspecify.annotations.NullMarked;
