-- Fenced leadership, H2 2.2.220 and later. Running it again changes nothing.

-- One row per role, never deleted: the token has to survive its term.
CREATE TABLE IF NOT EXISTS fenced_lease (
	namespace VARCHAR(100) NOT NULL,
	role VARCHAR(100) NOT NULL,
	owner_id VARCHAR(150) NOT NULL,
	fencing_token BIGINT NOT NULL,
	acquired_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	renewed_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	expires_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	ttl_ms BIGINT,
	suspended BOOLEAN,
	handover_to VARCHAR(150),
	handover_until TIMESTAMP(6) WITH TIME ZONE,
	stepdown_token BIGINT,
	PRIMARY KEY (namespace, role)
);

CREATE TABLE IF NOT EXISTS fenced_node (
	namespace VARCHAR(100) NOT NULL,
	node_id VARCHAR(150) NOT NULL,
	host VARCHAR(255) NOT NULL,
	pid BIGINT NOT NULL,
	version VARCHAR(255),
	started_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	last_heartbeat TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	PRIMARY KEY (namespace, node_id)
);

CREATE TABLE IF NOT EXISTS fenced_history (
	namespace VARCHAR(100) NOT NULL,
	role VARCHAR(100) NOT NULL,
	fencing_token BIGINT NOT NULL,
	owner_id VARCHAR(150) NOT NULL,
	started_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	ended_at TIMESTAMP(6) WITH TIME ZONE,
	reason VARCHAR(50),
	PRIMARY KEY (namespace, role, fencing_token)
);
