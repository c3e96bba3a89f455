package io.github.fencedleadership.autoconfigure;

import java.util.Set;

import org.springframework.boot.sql.init.dependency.AbstractBeansOfTypeDependsOnDatabaseInitializationDetector;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitializationDetector;

import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.membership.NodeRegistry;

/**
 * {@link DependsOnDatabaseInitializationDetector} for {@link LeaseStore} and
 * {@link NodeRegistry}, also those of the user.
 */
class LeaseStoreDependsOnDatabaseInitializationDetector
		extends AbstractBeansOfTypeDependsOnDatabaseInitializationDetector {

	@Override
	protected Set<Class<?>> getDependsOnDatabaseInitializationBeanTypes() {
		return Set.of(LeaseStore.class, NodeRegistry.class);
	}

}
