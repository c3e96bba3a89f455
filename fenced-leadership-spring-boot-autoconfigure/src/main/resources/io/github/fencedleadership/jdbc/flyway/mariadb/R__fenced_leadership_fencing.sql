-- Fenced writes, MariaDB 10.6 and later. For the database that is written to, be the
-- leases there or not. Running it again changes nothing.

-- The guard's marks: per namespace, role and resource the highest token that was accepted for a write.
CREATE TABLE IF NOT EXISTS fenced_resource (
	namespace VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	role VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	resource VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	fencing_token BIGINT NOT NULL,
	raised_at DATETIME(6) NOT NULL,
	PRIMARY KEY (namespace, role, resource)
) ENGINE = InnoDB;
