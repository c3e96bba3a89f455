package io.github.fencedleadership.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

/**
 * Marks a bean method that writes to a resource in the name of a term: it runs in a
 * transaction in which the fencing token of the term is checked first. <pre class="code">
 * &#64;FencedLeader("reports")
 * void sendReports(Leadership leadership) throws InterruptedException {
 *     while (leadership.await(Duration.ofSeconds(5))) {
 *         this.ledger.book(nextEntry());
 *     }
 * }
 *
 * // in the bean 'ledger'
 * &#64;FencedWrite("ledger")
 * void book(Entry entry) {
 *     ...
 * }
 * </pre>
 * <p>
 * What a call does, in this order: it takes the token of the term that the calling thread
 * acts in, joins or begins a transaction, has the
 * {@link io.github.fencedleadership.fencing.FencingGuard FencingGuard} check the token,
 * and runs the method. Check and method commit together or not at all. If the check
 * refuses the token, as with
 * {@link io.github.fencedleadership.fencing.StaleFencingTokenException
 * StaleFencingTokenException}, the method does not run and the transaction rolls back,
 * whatever its rollback rules, also one that the method would have joined.
 * <p>
 * A call outside of any term fails with a
 * {@link io.github.fencedleadership.fencing.NoFencingTokenException
 * NoFencingTokenException}. It is neither skipped nor let through.
 * <p>
 * Together with {@code @Transactional} on the method or its class, that annotation says
 * what the transaction is like and when it rolls back: propagation, isolation, timeout,
 * rules. Without it, there is a transaction as of a plain {@code @Transactional}: joined
 * if there is one, and rolled back for unchecked exceptions. Outside of a transaction,
 * the check is prepared before one begins. Inside of one, it cannot be: there, the first
 * write of a term to a resource may have to be tried again at isolation levels above READ
 * COMMITTED. From the outside to the inside, the advice of a method is {@code @Async} and
 * {@code @Retryable}, the gate of {@link FencedLeader @FencedLeader}, the preparation,
 * {@code @Transactional}, the check.
 * <p>
 * A method that could not be fenced fails the start of the application with an error that
 * names it: a private, static or final method, a bean that is not proxied, a return type
 * that outlives the call, {@code @Async}, a transaction that is read-only or need not be
 * there, a missing guard or transaction manager. Beans need not be singletons: others are
 * checked in full when they are created. What cannot be seen is a call of a bean to its
 * own method: it bypasses the proxy, and so the check.
 * <p>
 * Non-guarantee: what the method does outside of the transaction, such as a call of
 * another service, is not fenced.
 * <p>
 * May be used as a meta-annotation, with attributes overridden by
 * {@link AliasFor @AliasFor}. On a method of an interface or superclass it applies to the
 * methods that implement or override it. {@code ${...}} placeholders are resolved in all
 * attributes.
 */
@Target({ ElementType.METHOD, ElementType.ANNOTATION_TYPE })
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Reflective
public @interface FencedWrite {

	/**
	 * The resource, an alias for {@link #resource()}.
	 * @return the resource
	 */
	@AliasFor("resource")
	String value() default "";

	/**
	 * What is written to, and what tokens are compared for: a table, an account, a file.
	 * All who write to it must give it the same name. 1 to 200 characters without control
	 * characters. Required.
	 * @return the resource
	 */
	@AliasFor("value")
	String resource() default "";

	/**
	 * The role whose token to use, where a thread acts in terms of several. Qualified by
	 * its namespace, {@code orders/reports}, if that is another one than the
	 * application's own, as with the token of a caller. By default, the role of the
	 * innermost term.
	 * @return the role
	 */
	String role() default "";

	/**
	 * The qualifier or name of the transaction manager, which has to be one for the
	 * {@code DataSource} that the guard works on. By default, that of
	 * {@code @Transactional}, or the one that it would use.
	 * @return the transaction manager
	 */
	String transactionManager() default "";

}
