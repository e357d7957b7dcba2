SELECT fingerprint, parent, created_at FROM telafi_marks WHERE scope = :scope AND mark_key = :key
