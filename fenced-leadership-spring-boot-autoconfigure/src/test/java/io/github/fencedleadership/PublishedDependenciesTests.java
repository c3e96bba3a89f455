package io.github.fencedleadership;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import javax.xml.parsers.DocumentBuilderFactory;

import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What an application gets when it adds the starter. Another dependency needs a reason,
 * and a change here.
 */
class PublishedDependenciesTests {

	@Test
	void theStarterBringsWhatItsUserNeeds() throws Exception {
		assertThat(dependencies("fenced-leadership-spring-boot-starter")).containsExactlyInAnyOrder(
				"fenced-leadership-spring-boot-autoconfigure", "spring-boot-starter-jdbc",
				"spring-boot-starter-actuator");
	}

	@Test
	void theAutoConfigurationBringsNothingButWhatItIsMadeOf() throws Exception {
		assertThat(dependencies("fenced-leadership-spring-boot-autoconfigure"))
			.containsExactlyInAnyOrder("spring-boot-autoconfigure", "jspecify");
	}

	private static List<String> dependencies(String module) throws Exception {
		Element project = DocumentBuilderFactory.newInstance()
			.newDocumentBuilder()
			.parse(Path.of("..", module, "pom.xml").toFile())
			.getDocumentElement();
		List<String> result = new ArrayList<>();
		NodeList dependencies = project.getElementsByTagName("dependency");
		for (int i = 0; i < dependencies.getLength(); i++) {
			Element dependency = (Element) dependencies.item(i);
			boolean ofProject = dependency.getParentNode().getParentNode() == project;
			if (ofProject && text(dependency, "scope").isEmpty() && text(dependency, "optional").isEmpty()) {
				result.add(text(dependency, "artifactId"));
			}
		}
		return result;
	}

	private static String text(Element element, String name) {
		NodeList found = element.getElementsByTagName(name);
		return (found.getLength() == 0) ? "" : found.item(0).getTextContent().trim();
	}

}
