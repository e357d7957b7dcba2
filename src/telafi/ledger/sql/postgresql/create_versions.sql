CREATE TABLE IF NOT EXISTS telafi.versions (
    version integer NOT NULL PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)
