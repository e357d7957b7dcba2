INSERT INTO telafi.marks (scope, mark_key, fingerprint, parent, created_at)
VALUES (:scope, :key, :fingerprint, :parent, :created_at) ON CONFLICT (scope, mark_key) DO NOTHING
