package io.github.fencedleadership.autoconfigure;

import java.util.List;
import java.util.function.Function;

import jakarta.servlet.Filter;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.OnPropertyListCondition;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.restclient.RestClientCustomizer;
import org.springframework.boot.restclient.RestTemplateCustomizer;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.boot.webclient.WebClientCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.client.RestClient;
import org.springframework.web.filter.OncePerRequestFilter;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.util.pattern.PatternParseException;

import io.github.fencedleadership.web.FencingTokenClientHttpRequestInterceptor;
import io.github.fencedleadership.web.FencingTokenExchangeFilterFunction;
import io.github.fencedleadership.web.FencingTokenFilter;

/**
 * {@link EnableAutoConfiguration Auto-configuration} for fencing tokens across HTTP: sent
 * to the hosts that are named, and received on the paths that are named.
 */
@AutoConfiguration(after = FencedLeadershipAutoConfiguration.class)
@EnableConfigurationProperties(FencedLeadershipWebProperties.class)
public final class FencedLeadershipWebAutoConfiguration {

	private static <T> T forHosts(FencedLeadershipWebProperties properties, Function<List<String>, T> factory) {
		List<String> hosts = properties.getClient().getHosts();
		try {
			return factory.apply(hosts);
		}
		catch (IllegalArgumentException ex) {
			throw invalid(OnHostsCondition.PROPERTY, hosts, ex);
		}
	}

	private static InvalidFencedLeadershipPropertyException invalid(String property, List<String> values,
			IllegalArgumentException cause) {
		InvalidFencedLeadershipPropertyException exception = new InvalidFencedLeadershipPropertyException(property,
				values, "cannot be used: " + cause.getMessage(),
				"Correct it, or remove it if no fencing token is to cross HTTP");
		exception.initCause(cause);
		return exception;
	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass({ RestClientCustomizer.class, RestClient.class })
	@Conditional(OnHostsCondition.class)
	static class RestClientConfiguration {

		@Bean
		@ConditionalOnMissingBean
		FencingTokenClientHttpRequestInterceptor fencingTokenClientHttpRequestInterceptor(
				FencedLeadershipSettings settings, FencedLeadershipWebProperties properties) {
			return forHosts(properties,
					(hosts) -> new FencingTokenClientHttpRequestInterceptor(settings.namespace(), hosts));
		}

		@Bean
		RestClientCustomizer fencingTokenRestClientCustomizer(FencingTokenClientHttpRequestInterceptor interceptor) {
			return (builder) -> builder.requestInterceptor(interceptor);
		}

		@Bean
		RestTemplateCustomizer fencingTokenRestTemplateCustomizer(
				FencingTokenClientHttpRequestInterceptor interceptor) {
			return (restTemplate) -> restTemplate.getInterceptors().add(interceptor);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnClass({ WebClientCustomizer.class, WebClient.class })
	@Conditional(OnHostsCondition.class)
	static class WebClientConfiguration {

		@Bean
		@ConditionalOnMissingBean
		FencingTokenExchangeFilterFunction fencingTokenExchangeFilterFunction(FencedLeadershipSettings settings,
				FencedLeadershipWebProperties properties) {
			return forHosts(properties, (hosts) -> new FencingTokenExchangeFilterFunction(settings.namespace(), hosts));
		}

		@Bean
		WebClientCustomizer fencingTokenWebClientCustomizer(FencingTokenExchangeFilterFunction filter) {
			return (builder) -> builder.filter(filter);
		}

	}

	@Configuration(proxyBeanMethods = false)
	@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
	@ConditionalOnClass({ Filter.class, OncePerRequestFilter.class })
	@Conditional(OnPathsCondition.class)
	static class ServletConfiguration {

		@Bean
		@ConditionalOnMissingBean(name = "fencingTokenFilterRegistration")
		FilterRegistrationBean<FencingTokenFilter> fencingTokenFilterRegistration(FencedLeadershipSettings settings,
				FencedLeadershipWebProperties properties) {
			FencedLeadershipWebProperties.Server server = properties.getServer();
			requirePatterns(OnPathsCondition.ACCEPTED_PROPERTY, server.getAcceptedPaths());
			requirePatterns(OnPathsCondition.REQUIRED_PROPERTY, server.getRequiredPaths());
			// Last, so that callers have been authenticated before
			return new FilterRegistrationBean<>(
					new FencingTokenFilter(settings.namespace(), server.getAcceptedPaths(), server.getRequiredPaths()));
		}

		private static void requirePatterns(String property, List<String> paths) {
			try {
				new FencingTokenFilter("check", paths, List.of());
			}
			catch (PatternParseException ex) {
				throw invalid(property, paths, ex);
			}
		}

	}

	static class OnHostsCondition extends OnPropertyListCondition {

		static final String PROPERTY = "fenced-leadership.web.client.hosts";

		OnHostsCondition() {
			super(PROPERTY, () -> ConditionMessage.forCondition("Fencing token hosts"));
		}

	}

	static class OnPathsCondition extends AnyNestedCondition {

		static final String ACCEPTED_PROPERTY = "fenced-leadership.web.server.accepted-paths";

		static final String REQUIRED_PROPERTY = "fenced-leadership.web.server.required-paths";

		OnPathsCondition() {
			super(ConfigurationPhase.REGISTER_BEAN);
		}

		@Conditional(OnAcceptedPathsCondition.class)
		static class Accepted {

		}

		@Conditional(OnRequiredPathsCondition.class)
		static class Required {

		}

	}

	static class OnAcceptedPathsCondition extends OnPropertyListCondition {

		OnAcceptedPathsCondition() {
			super(OnPathsCondition.ACCEPTED_PROPERTY, () -> ConditionMessage.forCondition("Fencing token paths"));
		}

	}

	static class OnRequiredPathsCondition extends OnPropertyListCondition {

		OnRequiredPathsCondition() {
			super(OnPathsCondition.REQUIRED_PROPERTY, () -> ConditionMessage.forCondition("Fencing token paths"));
		}

	}

}
