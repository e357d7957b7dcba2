SELECT fingerprint, parent, created_at FROM telafi.marks WHERE scope = :scope AND mark_key = :key
