package io.github.fencedleadership.sample.launcher;

/**
 * The launcher, with nodes that start fast.
 */
final class BareLauncher {

	private BareLauncher() {
	}

	public static void main(String[] arguments) {
		ClusterLauncher.run(BareNode.class, arguments);
	}

}
