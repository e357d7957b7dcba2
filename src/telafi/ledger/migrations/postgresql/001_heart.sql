-- Instants are whole microseconds since 1970-01-01T00:00Z: they sort, they index, and they are the same on every database; names and keys compare byte by byte.
CREATE TABLE telafi.ledger (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    created_at bigint NOT NULL
);

CREATE TABLE telafi.jobs (
    job text COLLATE "C" NOT NULL PRIMARY KEY,
    watermark bigint,
    paused boolean NOT NULL DEFAULT false,
    wall_at bigint,
    boot_at bigint,
    boot text
);

-- A window's row is its mark: the effect of a window commits together with `open -> done`.
CREATE TABLE telafi.windows (
    job text COLLATE "C" NOT NULL,
    start_at bigint NOT NULL,
    end_at bigint NOT NULL,
    state text NOT NULL CHECK (state IN ('planned', 'open', 'done', 'parked', 'skipped', 'in-doubt')),
    schedule text NOT NULL,
    zone text,
    tzdata text,
    kind text,
    claim text,
    run text,
    token bigint NOT NULL DEFAULT 0,
    outside boolean NOT NULL DEFAULT false,
    attempts integer NOT NULL DEFAULT 0,
    reason text,
    error text,
    new_keys bigint,
    repeated_keys bigint,
    effects bigint,
    duration_ms bigint,
    planned_at bigint NOT NULL,
    finished_at bigint,
    PRIMARY KEY (job, start_at, end_at),
    CHECK (end_at > start_at)
);

-- Finished windows are never forgotten, only compacted.
CREATE TABLE telafi.ranges (
    job text COLLATE "C" NOT NULL,
    start_at bigint NOT NULL,
    end_at bigint NOT NULL,
    windows bigint NOT NULL,
    PRIMARY KEY (job, start_at),
    CHECK (end_at > start_at)
);

-- A run that is still here and whose owner is gone died: it is charged to one window, once.
CREATE TABLE telafi.runs (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    job text COLLATE "C" NOT NULL,
    plan text NOT NULL,
    owner text NOT NULL,
    opened_at bigint NOT NULL,
    charged_start bigint,
    charged_end bigint
);

CREATE INDEX runs_of_job ON telafi.runs (job);

CREATE TABLE telafi.lock_skips (
    job text COLLATE "C" NOT NULL PRIMARY KEY,
    skips bigint NOT NULL,
    last_at bigint NOT NULL,
    holder text
);

CREATE TABLE telafi.marks (
    scope text COLLATE "C" NOT NULL,
    mark_key text COLLATE "C" NOT NULL,
    fingerprint text,
    parent text,
    created_at bigint NOT NULL,
    PRIMARY KEY (scope, mark_key)
);
