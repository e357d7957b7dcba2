INSERT INTO telafi_marks (scope, mark_key, parent, created_at)
SELECT :scope, value, :parent, :created_at FROM json_each(:keys) WHERE true
ON CONFLICT (scope, mark_key) DO NOTHING
