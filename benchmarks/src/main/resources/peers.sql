-- The tables of the peers, and of what is written to. The same for every database.

CREATE TABLE INT_LOCK (
	LOCK_KEY CHAR(36) NOT NULL,
	REGION VARCHAR(100) NOT NULL,
	CLIENT_ID CHAR(36),
	CREATED_DATE TIMESTAMP NOT NULL,
	EXPIRED_AFTER TIMESTAMP NOT NULL,
	CONSTRAINT INT_LOCK_PK PRIMARY KEY (LOCK_KEY, REGION)
);

CREATE TABLE shedlock (
	name VARCHAR(64) NOT NULL,
	lock_until TIMESTAMP NOT NULL,
	locked_at TIMESTAMP NOT NULL,
	locked_by VARCHAR(255) NOT NULL,
	PRIMARY KEY (name)
);

CREATE TABLE scheduled_tasks (
	task_name VARCHAR(100) NOT NULL,
	task_instance VARCHAR(100) NOT NULL,
	task_data VARCHAR(100),
	execution_time TIMESTAMP NOT NULL,
	picked BOOLEAN NOT NULL,
	picked_by VARCHAR(100),
	last_success TIMESTAMP NULL,
	last_failure TIMESTAMP NULL,
	consecutive_failures INT,
	last_heartbeat TIMESTAMP NULL,
	version BIGINT NOT NULL,
	priority SMALLINT,
	PRIMARY KEY (task_name, task_instance)
);

CREATE TABLE single_lease (
	role VARCHAR(100) NOT NULL,
	owner_id VARCHAR(150) NOT NULL,
	fencing_token BIGINT NOT NULL,
	expires_at TIMESTAMP NOT NULL,
	PRIMARY KEY (role)
);

CREATE TABLE account (
	id INT NOT NULL,
	balance BIGINT NOT NULL,
	PRIMARY KEY (id)
);
