package io.github.fencedleadership.sample;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.scheduling.annotation.EnableScheduling;

/**
 * One node of the sample. Start as many as you like against one database.
 */
@SpringBootApplication
@EnableScheduling
public class SampleApplication {

	/**
	 * Start a node.
	 * @param args properties of the application, such as {@code --server.port=8082}
	 */
	public static void main(String[] args) {
		SpringApplication.run(SampleApplication.class, args);
	}

}
