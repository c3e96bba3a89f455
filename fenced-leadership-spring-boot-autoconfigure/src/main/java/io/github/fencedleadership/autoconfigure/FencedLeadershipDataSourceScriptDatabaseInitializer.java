package io.github.fencedleadership.autoconfigure;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariConfigMXBean;
import com.zaxxer.hikari.HikariDataSource;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.jdbc.DataSourceUnwrapper;
import org.springframework.boot.jdbc.EmbeddedDatabaseConnection;
import org.springframework.boot.jdbc.init.DataSourceScriptDatabaseInitializer;
import org.springframework.boot.jdbc.init.PlatformPlaceholderDatabaseDriverResolver;
import org.springframework.boot.sql.init.DatabaseInitializationMode;
import org.springframework.boot.sql.init.DatabaseInitializationSettings;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.core.io.Resource;
import org.springframework.jdbc.datasource.init.ScriptException;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

import io.github.fencedleadership.jdbc.JdbcDatabase;

/**
 * {@link DataSourceScriptDatabaseInitializer} for the tables of leases and nodes. May be
 * registered as a bean to override auto-configuration.
 * <p>
 * The scripts name the tables {@code fenced_...} and may be run by hand as they are. When
 * run from here these names are replaced by the configured ones.
 * <p>
 * Unless {@code initialize-schema} is {@code always}, a database that is not embedded, or
 * does not answer, is left alone: the application starts without it.
 */
public class FencedLeadershipDataSourceScriptDatabaseInitializer extends DataSourceScriptDatabaseInitializer {

	private static final Log logger = LogFactory.getLog(FencedLeadershipDataSourceScriptDatabaseInitializer.class);

	private static final Pattern TABLE = Pattern
		.compile("\\b" + JdbcDatabase.DEFAULT_TABLE_PREFIX + "(lease|node|history|resource)\\b");

	/**
	 * What PostgreSQL says to all but one of the sessions that create the same table at
	 * the same time, although each says "if not exists": unique violation (in its
	 * catalog), duplicate table, duplicate object, and tuple concurrently updated.
	 */
	private static final Set<String> CONCURRENT_CREATION_STATES = Set.of("23505", "42P07", "42710", "XX000");

	private static final int MAX_ATTEMPTS = 5;

	private static final long EMBEDDED_CHECK_SECONDS = 5;

	private final String qualifiedPrefix;

	/**
	 * Create an initializer.
	 * @param dataSource the DataSource whose database is initialized
	 * @param properties the properties
	 */
	public FencedLeadershipDataSourceScriptDatabaseInitializer(DataSource dataSource,
			FencedLeadershipJdbcProperties properties) {
		this(dataSource, properties, properties.getSchema());
	}

	FencedLeadershipDataSourceScriptDatabaseInitializer(DataSource dataSource,
			FencedLeadershipJdbcProperties properties, String schemaLocation) {
		super(dataSource, settings(dataSource, properties, schemaLocation));
		this.qualifiedPrefix = StringUtils.hasText(properties.getSchemaName())
				? properties.getSchemaName() + "." + properties.getTablePrefix() : properties.getTablePrefix();
	}

	private static DatabaseInitializationSettings settings(DataSource dataSource,
			FencedLeadershipJdbcProperties properties, String schemaLocation) {
		DatabaseInitializationSettings settings = new DatabaseInitializationSettings();
		settings.setMode(properties.getInitializeSchema());
		settings.setContinueOnError(properties.isContinueOnError());
		if (properties.getInitializeSchema() == DatabaseInitializationMode.ALWAYS
				|| (properties.getInitializeSchema() == DatabaseInitializationMode.EMBEDDED
						&& isEmbedded(dataSource))) {
			settings.setSchemaLocations(schemaLocations(dataSource, properties, schemaLocation));
		}
		return settings;
	}

	private static List<String> schemaLocations(DataSource dataSource, FencedLeadershipJdbcProperties properties,
			String schemaLocation) {
		PlatformPlaceholderDatabaseDriverResolver resolver = new PlatformPlaceholderDatabaseDriverResolver();
		String platform = properties.getPlatform();
		return (platform != null && StringUtils.hasText(platform)) ? resolver.resolveAll(platform, schemaLocation)
				: resolver.resolveAll(dataSource, schemaLocation);
	}

	/**
	 * A pool may wait for half a minute for a database that is down. So its configuration
	 * is asked if there is one, and else the pool itself, for a little while.
	 */
	private static boolean isEmbedded(DataSource dataSource) {
		String url = configuredUrl(dataSource);
		if (url != null && !url.startsWith("jdbc:h2:")) {
			return false;
		}
		CompletableFuture<Boolean> result = new CompletableFuture<>();
		Thread thread = new Thread(() -> {
			try {
				result.complete(EmbeddedDatabaseConnection.isEmbedded(dataSource));
			}
			catch (Throwable ex) {
				result.completeExceptionally(ex);
			}
		}, "fenced-leadership-embedded-check");
		thread.setDaemon(true);
		thread.start();
		try {
			return result.get(EMBEDDED_CHECK_SECONDS, TimeUnit.SECONDS);
		}
		catch (TimeoutException | ExecutionException ex) {
			logger.debug("Could not determine if the DataSource is embedded", ex);
			return false;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return false;
		}
	}

	private static @Nullable String configuredUrl(DataSource dataSource) {
		return ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource",
				FencedLeadershipDataSourceScriptDatabaseInitializer.class.getClassLoader()) ? HikariUrl.get(dataSource)
						: null;
	}

	@Override
	protected void runScripts(Scripts scripts) {
		Scripts renamed = new Scripts(rename(scripts)).continueOnError(scripts.isContinueOnError())
			.separator(scripts.getSeparator())
			.encoding(encoding(scripts));
		for (int attempt = 1;; attempt++) {
			try {
				super.runScripts(renamed);
				return;
			}
			catch (ScriptException ex) {
				if (attempt == MAX_ATTEMPTS || !isConcurrentCreation(ex)) {
					throw ex;
				}
				logger.debug("Another node creates the tables at the same time", ex);
			}
		}
	}

	private static boolean isConcurrentCreation(Throwable ex) {
		for (Throwable cause = ex; cause != null; cause = cause.getCause()) {
			if (cause instanceof SQLException sqlException
					&& CONCURRENT_CREATION_STATES.contains(Objects.toString(sqlException.getSQLState()))) {
				return true;
			}
		}
		return false;
	}

	private List<Resource> rename(Scripts scripts) {
		List<Resource> renamed = new ArrayList<>();
		for (Resource script : scripts) {
			try {
				String sql = script.getContentAsString(encoding(scripts));
				sql = TABLE.matcher(sql).replaceAll(Matcher.quoteReplacement(this.qualifiedPrefix) + "$1");
				renamed.add(new ByteArrayResource(sql.getBytes(encoding(scripts)), script.getDescription()));
			}
			catch (IOException ex) {
				throw new UncheckedIOException("Script '%s' could not be read".formatted(script), ex);
			}
		}
		return renamed;
	}

	private static Charset encoding(Scripts scripts) {
		Charset encoding = scripts.getEncoding();
		return (encoding != null) ? encoding : StandardCharsets.UTF_8;
	}

	/** Loaded only if Hikari is there. */
	private static final class HikariUrl {

		private HikariUrl() {
		}

		static @Nullable String get(DataSource dataSource) {
			HikariDataSource pool = DataSourceUnwrapper.unwrap(dataSource, HikariConfigMXBean.class,
					HikariDataSource.class);
			return (pool != null) ? pool.getJdbcUrl() : null;
		}

	}

}
