SELECT fingerprint FROM telafi.marks WHERE scope = :scope AND mark_key = :key
