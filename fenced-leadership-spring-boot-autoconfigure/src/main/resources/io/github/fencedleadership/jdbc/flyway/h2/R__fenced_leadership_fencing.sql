-- Fenced writes, H2 2.2.220 and later. For the database that is written to, be the
-- leases there or not. Running it again changes nothing.

-- The guard's marks: per namespace, role and resource the highest token that was accepted for a write.
CREATE TABLE IF NOT EXISTS fenced_resource (
	namespace VARCHAR(100) NOT NULL,
	role VARCHAR(100) NOT NULL,
	resource VARCHAR(200) NOT NULL,
	fencing_token BIGINT NOT NULL,
	raised_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
	PRIMARY KEY (namespace, role, resource)
);
