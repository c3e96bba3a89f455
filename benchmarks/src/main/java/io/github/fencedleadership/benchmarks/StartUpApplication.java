package io.github.fencedleadership.benchmarks;

import java.lang.management.ManagementFactory;

import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * An application that uses its database and knows nothing of leadership, which is a
 * matter of its class path and properties.
 */
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
class StartUpApplication {

	static final String READY = "ready after ";

	@Bean
	ApplicationRunner useOfDatabase(JdbcTemplate jdbc) {
		return (arguments) -> jdbc.queryForObject("SELECT 1", Integer.class);
	}

	@SuppressWarnings("SystemOut")
	public static void main(String[] arguments) {
		SpringApplication.run(StartUpApplication.class, arguments);
		System.out.println(READY + (System.currentTimeMillis() - ManagementFactory.getRuntimeMXBean().getStartTime()));
		System.exit(0);
	}

}
