package io.github.fencedleadership.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

/**
 * Marks a bean method as work of a role: it is done by the one node that leads the role.
 * <p>
 * Such a method takes one of two shapes, see {@link #mode()}:
 * <dl>
 * <dt>{@linkplain Mode#RUN run}</dt>
 * <dd>It is called once per term, on a thread of its own, when this node becomes leader,
 * and is expected to loop while {@code leadership.isHeld()}. It returns {@code void} and
 * takes no parameter, or the fencing token as a {@code long}, or the
 * {@link io.github.fencedleadership.election.Leadership Leadership}. Returning normally
 * keeps the term (an idle leader); throwing ends it, for all work of the role on this
 * node, and the node backs off before it contends again.</dd>
 * <dt>{@linkplain Mode#GATE gate}</dt>
 * <dd>Somebody else calls it: a scheduler, an event, a controller. The node holds the
 * role in the background, and a call goes through only while this node leads; otherwise
 * see {@link #otherwise()}. The token is that of {@code Leadership.current()}. The
 * calling thread counts as work of the term: it is interrupted when the term ends, and
 * the role is not handed over before it is done. An exception goes to the caller and does
 * not end the term.</dd>
 * </dl>
 * <pre class="code">
 * &#64;FencedLeader("reports")
 * void sendReports(Leadership leadership) throws InterruptedException {
 *     while (leadership.await(Duration.ofSeconds(5))) {
 *         this.reports.sendNext(leadership.fencingToken());
 *     }
 * }
 *
 * &#64;Scheduled(cron = "${cleanup.cron}")
 * &#64;FencedLeader(role = "cleanup", leaseTtl = "${cleanup.lease:1m}")
 * void cleanUp() {
 *     ...
 * }
 * </pre>
 * <p>
 * The gate is outside of transactions and inside of {@code @Retryable}, so that each
 * attempt is gated; exclude {@link NotLeaderException} from what is retried. Work that is
 * run is called through its bean's proxy, so that other advice applies inside the term.
 * <p>
 * Several methods, of any beans, may share a role: they share its term. Where more than
 * one of them states a time, they must state the same.
 * <p>
 * A method that could not be fenced fails the start of the application with an error that
 * names it: a private, static or final method, a bean that is not a singleton or not
 * proxied, a return type that outlives the call, and so on. What cannot be seen is a call
 * of a bean to its own method: it bypasses the proxy, and so the gate.
 * <p>
 * May be used as a meta-annotation, with attributes overridden by
 * {@link AliasFor @AliasFor}. On a method of an interface or superclass it applies to the
 * methods that implement or override it. {@code ${...}} placeholders are resolved in all
 * textual attributes.
 *
 * @see NotLeaderException
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Reflective
public @interface FencedLeader {

	/**
	 * The role, an alias for {@link #role()}.
	 * @return the role
	 */
	@AliasFor("role")
	String value() default "";

	/**
	 * The role: 1 to 100 characters, each an ASCII letter or digit or one of
	 * {@code . _ : -}. Scoped by the namespace of the application. Required.
	 * @return the role
	 */
	@AliasFor("value")
	String role() default "";

	/**
	 * Whether the method is run on election, or gated when called. By default, a
	 * {@code @Scheduled} method is gated, and any other is run.
	 * @return the mode
	 */
	Mode mode() default Mode.AUTO;

	/**
	 * What becomes of a call to a gated method while this node does not lead. Without
	 * meaning for a method that is run. By default, the call is skipped.
	 * @return what happens otherwise
	 */
	Otherwise otherwise() default Otherwise.SKIP;

	/**
	 * For how long a lease of the role is held without being renewed, such as {@code 30s}
	 * or {@code PT30S}; a number alone is in milliseconds. By default, the
	 * {@code fenced-leadership.lease-ttl}. A property
	 * {@code fenced-leadership.roles.<role>.lease-ttl} wins over both.
	 * @return the lease TTL
	 */
	String leaseTtl() default "";

	/**
	 * How often a held lease of the role is renewed, in the same syntax. By default, a
	 * third of {@link #leaseTtl()} where that is given, else the
	 * {@code fenced-leadership.renew-interval}. A property
	 * {@code fenced-leadership.roles.<role>.renew-interval} wins over both.
	 * @return the renew interval
	 */
	String renewInterval() default "";

	/**
	 * After how long without progress running work of the role loses its leadership, in
	 * the same syntax; zero for never. By default, the
	 * {@code fenced-leadership.stall-timeout}. A property
	 * {@code fenced-leadership.roles.<role>.stall-timeout} wins over both.
	 * @return the stall timeout
	 */
	String stallTimeout() default "";

	/**
	 * How a method takes part in a term.
	 */
	enum Mode {

		/**
		 * {@link #GATE} if the method is {@code @Scheduled}, directly or through a
		 * meta-annotation, else {@link #RUN}.
		 */
		AUTO,

		/**
		 * The method is run once per term, by nobody else.
		 */
		RUN,

		/**
		 * The method is called by others, and its calls are let through during a term.
		 */
		GATE

	}

	/**
	 * What becomes of a call while this node does not lead.
	 */
	enum Otherwise {

		/**
		 * The call returns at once: nothing, {@code null}, or an empty {@code Optional}.
		 */
		SKIP,

		/**
		 * The call throws a {@link NotLeaderException}.
		 */
		THROW

	}

}
