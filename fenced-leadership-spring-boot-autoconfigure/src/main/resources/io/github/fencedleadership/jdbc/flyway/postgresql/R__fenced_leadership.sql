-- Fenced leadership, PostgreSQL 13 and later. Running it again changes nothing.

-- One row per role, never deleted: the token has to survive its term. Every renewal changes the row, so each
-- page keeps room for the next version, and nothing that a renewal changes is indexed.
CREATE TABLE IF NOT EXISTS fenced_lease (
	namespace VARCHAR(100) COLLATE "C" NOT NULL,
	role VARCHAR(100) COLLATE "C" NOT NULL,
	owner_id VARCHAR(150) COLLATE "C" NOT NULL,
	fencing_token BIGINT NOT NULL,
	acquired_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	renewed_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	expires_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	ttl_ms BIGINT,
	suspended BOOLEAN,
	handover_to VARCHAR(150) COLLATE "C",
	handover_until TIMESTAMP(6) WITH TIME ZONE,
	stepdown_token BIGINT,
	PRIMARY KEY (namespace, role)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);

CREATE TABLE IF NOT EXISTS fenced_node (
	namespace VARCHAR(100) COLLATE "C" NOT NULL,
	node_id VARCHAR(150) COLLATE "C" NOT NULL,
	host VARCHAR(255) NOT NULL,
	pid BIGINT NOT NULL,
	version VARCHAR(255),
	started_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	last_heartbeat TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	PRIMARY KEY (namespace, node_id)
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS fenced_history (
	namespace VARCHAR(100) COLLATE "C" NOT NULL,
	role VARCHAR(100) COLLATE "C" NOT NULL,
	fencing_token BIGINT NOT NULL,
	owner_id VARCHAR(150) COLLATE "C" NOT NULL,
	started_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	ended_at TIMESTAMP(6) WITH TIME ZONE,
	reason VARCHAR(50),
	PRIMARY KEY (namespace, role, fencing_token)
);
