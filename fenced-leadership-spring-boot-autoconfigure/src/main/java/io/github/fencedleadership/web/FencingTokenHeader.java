package io.github.fencedleadership.web;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.github.fencedleadership.fencing.FencingToken;
import io.github.fencedleadership.lease.Roles;

/**
 * The HTTP header that carries a fencing token: <pre class="code">
 * Fencing-Token: ns="orders", role="reports", token=42
 * </pre>
 * <p>
 * A dictionary of structured field values with exactly these members, in any order: the
 * namespace and the role of the caller, which are strings, and the number of its term,
 * which is an integer and so has at most 15 digits. Reading it is stricter than that
 * format asks for: unknown members, parameters, and members that are there twice are
 * refused rather than ignored, since a token that is not understood protects nothing.
 *
 * @see <a href="https://www.rfc-editor.org/rfc/rfc9651">RFC 9651, Structured Field Values
 * for HTTP</a>
 */
public final class FencingTokenHeader {

	/**
	 * The name of the header.
	 */
	public static final String NAME = "Fencing-Token";

	/**
	 * The highest token that can be sent.
	 */
	public static final long MAX_TOKEN = 999_999_999_999_999L;

	/**
	 * The longest value that is read: two names, a number, and some room for white space.
	 */
	static final int MAX_LENGTH = 2 * Roles.MAX_LENGTH + 100;

	private static final String NAMESPACE = "ns";

	private static final String ROLE = "role";

	private static final String TOKEN = "token";

	/**
	 * One member and what separates it from the next. Possessive, so that it takes linear
	 * time whatever is sent.
	 */
	private static final Pattern MEMBER = Pattern
		.compile("([a-z]++)=(?:\"([^\"\\\\]*+)\"|([0-9]{1,15}+))(?:[ \\t]*+(,)[ \\t]*+)?+");

	private FencingTokenHeader() {
	}

	/**
	 * Write a token.
	 * @param token the token
	 * @param namespace the namespace of this application
	 * @return the value of the header
	 * @throws IllegalArgumentException if the token cannot be sent
	 */
	public static String format(FencingToken token, String namespace) {
		if (token.value() > MAX_TOKEN) {
			throw new IllegalArgumentException(
					"Fencing token '%s' is too high to be sent: a '%s' header holds at most '%d'".formatted(token, NAME,
							MAX_TOKEN));
		}
		String ofToken = (token.namespace() != null) ? token.namespace() : namespace;
		requireName("Namespace", ofToken);
		requireName("Role", token.role());
		return "%s=\"%s\", %s=\"%s\", %s=%d".formatted(NAMESPACE, ofToken, ROLE, token.role(), TOKEN, token.value());
	}

	private static void requireName(String what, String name) {
		if (!Roles.isValid(name)) {
			throw new IllegalArgumentException(
					"%s '%s' cannot be sent in a '%s' header: only ASCII letters, digits and '._:-' can".formatted(what,
							name, NAME));
		}
	}

	/**
	 * Read a token.
	 * @param value the value of the header, from whomever
	 * @param namespace the namespace of this application; a token of that namespace is
	 * one of the application's own
	 * @return the token
	 * @throws InvalidFencingTokenHeaderException if it is not exactly as described
	 */
	public static FencingToken parse(String value, String namespace) throws InvalidFencingTokenHeaderException {
		if (value.length() > MAX_LENGTH) {
			throw new InvalidFencingTokenHeaderException("is longer than %d characters".formatted(MAX_LENGTH));
		}
		Map<String, String> members = parseMembers(value);
		String ofCaller = requireName(members, NAMESPACE);
		String role = requireName(members, ROLE);
		long token = Long.parseLong(members.getOrDefault(TOKEN, "0"));
		if (token < 1) {
			throw new InvalidFencingTokenHeaderException("has no positive member 'token'");
		}
		return new FencingToken(ofCaller.equals(namespace) ? null : ofCaller, role, token);
	}

	private static Map<String, String> parseMembers(String value) {
		Map<String, String> members = new HashMap<>();
		String trimmed = value.replaceAll("^ +| +$", "");
		Matcher matcher = MEMBER.matcher(trimmed);
		boolean more = true;
		while (more) {
			if (!matcher.lookingAt()) {
				throw new InvalidFencingTokenHeaderException("is not a dictionary of strings and integers");
			}
			String key = matcher.group(1);
			boolean string = matcher.group(2) != null;
			if (!Set.of(NAMESPACE, ROLE, TOKEN).contains(key) || string == key.equals(TOKEN)) {
				throw new InvalidFencingTokenHeaderException("has an unknown member, or one of the wrong type");
			}
			if (members.put(key, string ? matcher.group(2) : matcher.group(3)) != null) {
				throw new InvalidFencingTokenHeaderException("has a member twice");
			}
			more = matcher.group(4) != null;
			matcher.region(matcher.end(), trimmed.length());
		}
		if (matcher.regionStart() != trimmed.length()) {
			throw new InvalidFencingTokenHeaderException("is not a dictionary of strings and integers");
		}
		return members;
	}

	private static String requireName(Map<String, String> members, String key) {
		String name = members.getOrDefault(key, "");
		if (!Roles.isValid(name)) {
			throw new InvalidFencingTokenHeaderException("has no member '%s' that is a name".formatted(key));
		}
		return name;
	}

}
