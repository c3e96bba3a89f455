/**
 * Auto-configuration of fenced leadership.
 */
@NullMarked
package io.github.fencedleadership.autoconfigure;

import org.jspecify.annotations.NullMarked;
