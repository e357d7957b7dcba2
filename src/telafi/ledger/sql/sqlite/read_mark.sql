SELECT fingerprint FROM telafi_marks WHERE scope = :scope AND mark_key = :key
