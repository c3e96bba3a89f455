package io.github.fencedleadership.web;

/**
 * Thrown when a received fencing token cannot be read. Its message never repeats what was
 * received.
 */
@SuppressWarnings("serial")
public class InvalidFencingTokenHeaderException extends RuntimeException {

	/**
	 * Create an exception.
	 * @param reason what is wrong, in words that continue the name of the header
	 */
	InvalidFencingTokenHeaderException(String reason) {
		super("The '%s' header %s".formatted(FencingTokenHeader.NAME, reason));
	}

}
