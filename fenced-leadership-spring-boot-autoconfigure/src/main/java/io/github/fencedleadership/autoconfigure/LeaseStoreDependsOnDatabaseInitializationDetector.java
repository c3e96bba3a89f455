package io.github.fencedleadership.autoconfigure;

import java.util.Set;

import org.springframework.boot.sql.init.dependency.AbstractBeansOfTypeDependsOnDatabaseInitializationDetector;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitializationDetector;

import io.github.fencedleadership.fencing.FencingGuard;
import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.membership.NodeRegistry;

/**
 * {@link DependsOnDatabaseInitializationDetector} for {@link LeaseStore},
 * {@link NodeRegistry} and {@link FencingGuard}, also those of the user.
 */
class LeaseStoreDependsOnDatabaseInitializationDetector
		extends AbstractBeansOfTypeDependsOnDatabaseInitializationDetector {

	@Override
	protected Set<Class<?>> getDependsOnDatabaseInitializationBeanTypes() {
		return Set.of(FencingGuard.class, LeaseStore.class, NodeRegistry.class);
	}

}
