-- Remote values: JSON by key for clients, with the rules by which players get other values than the default.
CREATE TABLE remote_values (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL,
    -- List of rules in JSON.
    rules TEXT NOT NULL DEFAULT '[]',
    -- Number of the change that wrote it, from 1.
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
){by_key};
