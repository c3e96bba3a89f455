package io.github.fencedleadership.autoconfigure;

import java.time.Duration;

/**
 * For how long a call of the lease store may take, which the settings of every role have
 * to leave time for.
 *
 * @param duration the bound
 */
record StoreCallBound(Duration duration) {

}
