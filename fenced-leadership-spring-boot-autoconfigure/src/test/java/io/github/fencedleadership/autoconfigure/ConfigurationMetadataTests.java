package io.github.fencedleadership.autoconfigure;

import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import com.jayway.jsonpath.JsonPath;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the metadata of the configuration properties, as built.
 */
class ConfigurationMetadataTests {

	@Test
	void everyKeyHasDescription() throws Exception {
		List<String> names = new ArrayList<>();
		List<String> undescribed = new ArrayList<>();
		for (Map<?, ?> property : properties()) {
			String name = String.valueOf(property.get("name"));
			names.add(name);
			if (!(property.get("description") instanceof String description) || description.isBlank()) {
				undescribed.add(name);
			}
		}
		assertThat(names).allMatch((name) -> name.startsWith("fenced-leadership."))
			.contains("fenced-leadership.lease-ttl", "fenced-leadership.jdbc.schema",
					"fenced-leadership.jdbc.initialize-schema", "fenced-leadership.jdbc.platform",
					"fenced-leadership.jdbc.continue-on-error", "fenced-leadership.jdbc.table-prefix",
					"fenced-leadership.jdbc.schema-name", "fenced-leadership.jdbc.connection-timeout",
					"fenced-leadership.jdbc.query-timeout");
		assertThat(undescribed).isEmpty();
	}

	private static List<Map<?, ?>> properties() throws Exception {
		try (InputStream metadata = FencedLeadershipProperties.class
			.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
			return JsonPath.read(metadata, "$.properties[*]");
		}
	}

}
