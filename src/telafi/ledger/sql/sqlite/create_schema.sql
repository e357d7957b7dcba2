-- Tables of a SQLite ledger carry a prefix instead of a schema.
SELECT 1
