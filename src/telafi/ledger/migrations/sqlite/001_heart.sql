-- Instants are whole microseconds since 1970-01-01T00:00Z: they sort, they index, and they are the same on every database.
CREATE TABLE telafi_ledger (
    id TEXT NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE telafi_jobs (
    job TEXT NOT NULL PRIMARY KEY,
    watermark INTEGER,
    paused INTEGER NOT NULL DEFAULT 0,
    wall_at INTEGER,
    boot_at INTEGER,
    boot TEXT
) WITHOUT ROWID;

-- A window's row is its mark: the effect of a window commits together with `open -> done`.
CREATE TABLE telafi_windows (
    job TEXT NOT NULL,
    start_at INTEGER NOT NULL,
    end_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('planned', 'open', 'done', 'parked', 'skipped', 'in-doubt')),
    schedule TEXT NOT NULL,
    zone TEXT,
    tzdata TEXT,
    kind TEXT,
    claim TEXT,
    run TEXT,
    token INTEGER NOT NULL DEFAULT 0,
    outside INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    error TEXT,
    new_keys INTEGER,
    repeated_keys INTEGER,
    effects INTEGER,
    duration_ms INTEGER,
    planned_at INTEGER NOT NULL,
    finished_at INTEGER,
    PRIMARY KEY (job, start_at, end_at),
    CHECK (end_at > start_at)
) WITHOUT ROWID;

-- Finished windows are never forgotten, only compacted.
CREATE TABLE telafi_ranges (
    job TEXT NOT NULL,
    start_at INTEGER NOT NULL,
    end_at INTEGER NOT NULL,
    windows INTEGER NOT NULL,
    PRIMARY KEY (job, start_at),
    CHECK (end_at > start_at)
) WITHOUT ROWID;

-- A run that is still here and whose owner is gone died: it is charged to one window, once.
CREATE TABLE telafi_runs (
    id TEXT NOT NULL PRIMARY KEY,
    job TEXT NOT NULL,
    plan TEXT NOT NULL,
    owner TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    charged_start INTEGER,
    charged_end INTEGER
) WITHOUT ROWID;

CREATE INDEX telafi_runs_of_job ON telafi_runs (job);

CREATE TABLE telafi_lock_skips (
    job TEXT NOT NULL PRIMARY KEY,
    skips INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    holder TEXT
) WITHOUT ROWID;

CREATE TABLE telafi_marks (
    scope TEXT NOT NULL,
    mark_key TEXT NOT NULL,
    fingerprint TEXT,
    parent TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (scope, mark_key)
) WITHOUT ROWID;
