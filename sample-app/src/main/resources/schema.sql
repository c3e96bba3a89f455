-- CREATE TABLE IF NOT EXISTS is not safe against itself on PostgreSQL: of several nodes that start at once for the
-- first time, one can fail with a duplicate key in the catalog. Hence one at a time, each waiting for the one before.
SELECT pg_advisory_lock(7235463218);

CREATE TABLE IF NOT EXISTS ledger (
	id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	role VARCHAR(100) NOT NULL,
	fencing_token BIGINT NOT NULL,
	node VARCHAR(150) NOT NULL,
	entry TEXT NOT NULL,
	written_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE IF NOT EXISTS ledger_refusal (
	id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	resource VARCHAR(200) NOT NULL,
	role VARCHAR(100) NOT NULL,
	fencing_token BIGINT NOT NULL,
	newer_token BIGINT NOT NULL,
	node VARCHAR(150) NOT NULL,
	entry TEXT NOT NULL,
	refused_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

SELECT pg_advisory_unlock(7235463218);
