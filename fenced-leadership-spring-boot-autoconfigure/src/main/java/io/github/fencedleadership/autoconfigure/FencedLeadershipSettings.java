package io.github.fencedleadership.autoconfigure;

import java.time.Duration;
import java.util.Map;

import io.github.fencedleadership.election.RoleSettings;

/**
 * What the properties come to once defaults are filled in and everything is checked.
 *
 * @param namespace the scope of the role names
 * @param ownerName the first part of this node's owner id
 * @param defaults the settings of roles that have none of their own
 * @param roles the settings of roles that differ
 * @param heartbeatInterval how often this node reports that it is alive
 * @param livenessTtl how long a node counts as live after a heartbeat
 * @param retention how long a silent node is kept
 * @param drainTimeout how long to wait for running work at a stop
 */
record FencedLeadershipSettings(String namespace, String ownerName, RoleSettings defaults,
		Map<String, RoleSettings> roles, Duration heartbeatInterval, Duration livenessTtl, Duration retention,
		Duration drainTimeout) {

}
