package io.github.fencedleadership;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Properties;
import java.util.function.Predicate;
import java.util.stream.Stream;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClass.Predicates;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.domain.JavaType;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import com.tngtech.archunit.library.Architectures;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.env.Environment;

import io.github.fencedleadership.lease.LeaseStore;
import io.github.fencedleadership.lease.Roles;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.methods;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of who may lean on whom, and of Spring Boot's rules for auto-configurations.
 */
class ArchitectureTests {

	private static final String BASE = "io.github.fencedleadership";

	private static final JavaClasses CLASSES = new ClassFileImporter()
		.withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
		.importPackages(BASE);

	@Test
	void packagesLeanOnlyOnThoseBelow() {
		Architectures.layeredArchitecture()
			.consideringOnlyDependenciesInAnyPackage(BASE + "..")
			.layer("autoconfigure")
			.definedBy(BASE + ".autoconfigure")
			.layer("annotation")
			.definedBy(BASE + ".annotation")
			.layer("actuate")
			.definedBy(BASE + ".actuate")
			.layer("election")
			.definedBy(BASE + ".election")
			.optionalLayer("jdbc")
			.definedBy(BASE + ".jdbc")
			.layer("web")
			.definedBy(BASE + ".web")
			.layer("propagation")
			.definedBy(BASE + ".propagation")
			.layer("lease")
			.definedBy(BASE + ".lease")
			.layer("membership")
			.definedBy(BASE + ".membership")
			.layer("fencing")
			.definedBy(BASE + ".fencing")
			.whereLayer("autoconfigure")
			.mayNotBeAccessedByAnyLayer()
			.whereLayer("annotation")
			.mayOnlyBeAccessedByLayers("autoconfigure")
			.whereLayer("actuate")
			.mayOnlyBeAccessedByLayers("autoconfigure")
			.whereLayer("election")
			.mayOnlyBeAccessedByLayers("autoconfigure", "annotation", "actuate")
			.whereLayer("jdbc")
			.mayOnlyBeAccessedByLayers("autoconfigure", "annotation")
			.whereLayer("web")
			.mayOnlyBeAccessedByLayers("autoconfigure")
			.whereLayer("propagation")
			.mayNotBeAccessedByAnyLayer()
			.ensureAllClassesAreContainedInArchitecture()
			.check(CLASSES);
	}

	@Test
	void contractsKnowNothingAboveThem() {
		noClasses().that()
			.resideInAnyPackage(BASE + ".lease", BASE + ".membership", BASE + ".fencing")
			.should()
			.dependOnClassesThat()
			.resideInAnyPackage(BASE + ".election..", BASE + ".jdbc..", BASE + ".annotation..", BASE + ".actuate..",
					BASE + ".web..", BASE + ".propagation..", BASE + ".autoconfigure..")
			.check(CLASSES);
	}

	@Test
	void webAndPropagationUseNothingOfOursButTokensAndTheRuleForNames() {
		noClasses().that()
			.resideInAnyPackage(BASE + ".web", BASE + ".propagation")
			.should()
			.dependOnClassesThat(Predicates.resideInAPackage(BASE + "..")
				.and(DescribedPredicate
					.not(Predicates.resideInAnyPackage(BASE + ".fencing", BASE + ".web", BASE + ".propagation")))
				.and(DescribedPredicate.not(Predicates.type(Roles.class))))
			.check(CLASSES);
	}

	@Test
	void optionalDependenciesAreUsedOnlyWhereTheirAbsenceIsMinded() {
		noClasses().that()
			.resideOutsideOfPackage(BASE + ".propagation")
			.should()
			.dependOnClassesThat()
			.resideInAPackage("io.micrometer.context..")
			.check(CLASSES);
		noClasses().that()
			.resideOutsideOfPackages(BASE + ".web", BASE + ".autoconfigure")
			.should()
			.dependOnClassesThat()
			.resideInAnyPackage("org.springframework.web..", "jakarta.servlet..")
			.check(CLASSES);
	}

	@Test
	void packagesAreFreeOfCycles() {
		SlicesRuleDefinition.slices().matching(BASE + ".(*)..").should().beFreeOfCycles().check(CLASSES);
	}

	@Test
	void coreUsesNothingButTheJdkAndItsOwn() {
		classes().that()
			.resideInAnyPackage(BASE + ".lease", BASE + ".membership", BASE + ".fencing", BASE + ".election")
			.should()
			.onlyDependOnClassesThat()
			.resideInAnyPackage("java..", "org.jspecify.annotations..", "org.apache.commons.logging..", BASE + ".lease",
					BASE + ".membership", BASE + ".fencing", BASE + ".election")
			.check(CLASSES);
	}

	@Test
	void packagesAreNullMarked() {
		Stream<String> packages = CLASSES.stream()
			.map(JavaClass::getPackageName)
			.distinct()
			.filter((name) -> !CLASSES.getPackage(name).isAnnotatedWith(NullMarked.class));
		assertThat(packages).isEmpty();
	}

	@Test
	void autoConfigurationsArePublicFinalAndNamedSo() {
		classes().that()
			.areAnnotatedWith(AutoConfiguration.class)
			.should()
			.bePublic()
			.andShould()
			.haveModifier(JavaModifier.FINAL)
			.andShould()
			.haveSimpleNameEndingWith("AutoConfiguration")
			.andShould()
			.resideInAPackage(BASE + ".autoconfigure")
			.check(CLASSES);
		classes().that()
			.haveSimpleNameEndingWith("AutoConfiguration")
			.should()
			.beAnnotatedWith(AutoConfiguration.class)
			.check(CLASSES);
	}

	@Test
	void autoConfigurationsHaveNoPublicMembers() {
		methods().that()
			.areDeclaredInClassesThat()
			.areAnnotatedWith(AutoConfiguration.class)
			.should()
			.notBePublic()
			.check(CLASSES);
		fields().that()
			.areDeclaredInClassesThat()
			.areAnnotatedWith(AutoConfiguration.class)
			.should()
			.notBePublic()
			.allowEmptyShould(true)
			.check(CLASSES);
	}

	@Test
	void autoConfigurationsAreListedOnePerLineAndSorted() throws IOException {
		List<String> declared = CLASSES.stream()
			.filter((type) -> type.isAnnotatedWith(AutoConfiguration.class))
			.map(JavaClass::getName)
			.sorted()
			.toList();
		String resource = "META-INF/spring/%s.imports".formatted(AutoConfiguration.class.getName());
		assertThat(lines(resource)).containsExactlyElementsOf(declared);
		assertThat(ImportCandidates.load(AutoConfiguration.class, getClass().getClassLoader()).getCandidates())
			.containsAll(declared);
	}

	@Test
	void failureAnalyzersAreListedAndSorted() throws IOException {
		List<String> declared = CLASSES.stream()
			.filter(Predicates.assignableTo(FailureAnalyzer.class))
			.filter((type) -> !type.getModifiers().contains(JavaModifier.ABSTRACT))
			.map(JavaClass::getName)
			.sorted()
			.toList();
		Properties factories = new Properties();
		try (InputStream stream = open("META-INF/spring.factories")) {
			factories.load(stream);
		}
		String listed = factories.getProperty(FailureAnalyzer.class.getName());
		assertThat(listed.split(",")).containsExactlyElementsOf(declared);
	}

	@Test
	void beanMethodsAreNotPublicAndReturnNothingPrivate() {
		methods().that()
			.areAnnotatedWith(Bean.class)
			.should()
			.notBePublic()
			.andShould(returnNonPrivateType())
			.check(CLASSES);
	}

	@Test
	void postProcessorsAreCreatedByStaticMethodsThatCauseNothingElseToBeCreated() {
		methods().that()
			.areAnnotatedWith(Bean.class)
			.and()
			.haveRawReturnType(Predicates.assignableTo(BeanPostProcessor.class)
				.or(Predicates.assignableTo(BeanFactoryPostProcessor.class)))
			.should()
			.beStatic()
			.andShould(haveOnlyLazyParameters())
			.check(CLASSES);
	}

	@Test
	void injectionIsByConstructor() {
		fields().should()
			.notBeAnnotatedWith(Autowired.class)
			.andShould()
			.notBeAnnotatedWith(Value.class)
			.check(CLASSES);
	}

	@Test
	void conditionsAreNotPublic() {
		classes().that().areAssignableTo(Condition.class).should().notBePublic().allowEmptyShould(true).check(CLASSES);
	}

	private static ArchCondition<JavaMethod> returnNonPrivateType() {
		return condition("return a type that is not private",
				(method) -> !method.getRawReturnType().getModifiers().contains(JavaModifier.PRIVATE));
	}

	private static ArchCondition<JavaMethod> haveOnlyLazyParameters() {
		return condition("have only lazy parameters",
				(method) -> method.getParameters()
					.stream()
					.allMatch((parameter) -> parameter.isAnnotatedWith(Lazy.class) || isLazy(parameter.getType())));
	}

	private static boolean isLazy(JavaType type) {
		return type.toErasure().isEquivalentTo(ObjectProvider.class)
				|| type.toErasure().isEquivalentTo(Environment.class);
	}

	private static <T extends JavaMember> ArchCondition<T> condition(String description, Predicate<T> predicate) {
		DescribedPredicate<T> described = DescribedPredicate.describe(description, predicate);
		return new ArchCondition<>(description) {

			@Override
			public void check(T item, ConditionEvents events) {
				events.add(new SimpleConditionEvent(item, described.test(item),
						"%s: %s".formatted(item.getFullName(), description)));
			}

		};
	}

	private static List<String> lines(String resource) throws IOException {
		try (InputStream stream = open(resource)) {
			return new String(stream.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
		}
	}

	/**
	 * Other jars have resources of these names too, so open that of our own classes.
	 */
	private static InputStream open(String resource) throws IOException {
		URL location = LeaseStore.class.getProtectionDomain().getCodeSource().getLocation();
		return new URL(location, resource).openStream();
	}

}
