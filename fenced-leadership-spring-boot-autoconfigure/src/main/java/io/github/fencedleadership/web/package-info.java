/**
 * The fencing token across HTTP: filters and interceptors for clients and for servers.
 * Fencing, not authentication: who sends a token is not verified.
 */
@NullMarked
package io.github.fencedleadership.web;

import org.jspecify.annotations.NullMarked;
