-- Readers never block the writer. Kept in the file from then on, so it is asked for once, before the tables.
PRAGMA journal_mode = WAL
