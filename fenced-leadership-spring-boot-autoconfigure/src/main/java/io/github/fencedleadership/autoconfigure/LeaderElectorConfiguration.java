package io.github.fencedleadership.autoconfigure;

import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Configuration;

import io.github.fencedleadership.election.LeaderElector;

/**
 * The elector and its lifecycle.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnBooleanProperty(name = "fenced-leadership.enabled", matchIfMissing = true)
@ConditionalOnMissingBean(LeaderElector.class)
class LeaderElectorConfiguration {

}
