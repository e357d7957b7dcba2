-- Keys come sorted, so two bulk inserts cannot deadlock.
INSERT INTO telafi.marks (scope, mark_key, parent, created_at)
SELECT :scope, asked.key, :parent, :created_at FROM unnest(:keys::text[]) AS asked (key)
ON CONFLICT (scope, mark_key) DO NOTHING
RETURNING mark_key
