package io.github.fencedleadership.autoconfigure;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.List;
import java.util.Map;

import com.jayway.jsonpath.JsonPath;
import org.junit.jupiter.api.Test;

import io.github.fencedleadership.lease.LeaseStore;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of the configuration metadata that the build generates.
 */
class ConfigurationMetadataTests {

	@Test
	void everyPropertyHasADescription() throws IOException {
		List<Map<String, Object>> properties = properties();
		assertThat(properties).extracting((property) -> property.get("name"))
			.contains("fenced-leadership.enabled", "fenced-leadership.roles",
					"fenced-leadership.nodes.heartbeat-interval", "fenced-leadership.shutdown.drain-timeout",
					"fenced-leadership.fencing.idle-timeout", "fenced-leadership.fencing.schema",
					"fenced-leadership.jdbc.schema", "fenced-leadership.jdbc.initialize-schema",
					"fenced-leadership.jdbc.platform", "fenced-leadership.jdbc.continue-on-error",
					"management.endpoint.leadership.access", "management.endpoint.nodes.access");
		assertThat(properties).allSatisfy(
				(property) -> assertThat(property.get("description")).as("description of '%s'", property.get("name"))
					.asString()
					.isNotBlank()
					.isNotEqualTo("null"));
	}

	private static List<Map<String, Object>> properties() throws IOException {
		// Other jars have such a file too, so open our own
		URL location = LeaseStore.class.getProtectionDomain().getCodeSource().getLocation();
		try (InputStream metadata = new URL(location, "META-INF/spring-configuration-metadata.json").openStream()) {
			return JsonPath.parse(metadata).read("$.properties");
		}
	}

}
