-- Fenced leadership, MySQL 8.0 and later. Running it again changes nothing.

-- One row per role, never deleted: the token has to survive its term. Instants are UTC. Names are compared
-- byte by byte, so that 'reports' and 'Reports' are two roles.
CREATE TABLE IF NOT EXISTS fenced_lease (
	namespace VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	role VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	owner_id VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	fencing_token BIGINT NOT NULL,
	acquired_at DATETIME(6) NOT NULL,
	renewed_at DATETIME(6) NOT NULL,
	expires_at DATETIME(6) NOT NULL,
	ttl_ms BIGINT,
	suspended BOOLEAN,
	handover_to VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	handover_until DATETIME(6),
	stepdown_token BIGINT,
	PRIMARY KEY (namespace, role)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS fenced_node (
	namespace VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	node_id VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	host VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	pid BIGINT NOT NULL,
	version VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
	started_at DATETIME(6) NOT NULL,
	last_heartbeat DATETIME(6) NOT NULL,
	PRIMARY KEY (namespace, node_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS fenced_history (
	namespace VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	role VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
	fencing_token BIGINT NOT NULL,
	owner_id VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
	started_at DATETIME(6) NOT NULL,
	ended_at DATETIME(6),
	reason VARCHAR(50),
	PRIMARY KEY (namespace, role, fencing_token)
) ENGINE = InnoDB;
