SELECT start_at, end_at, windows FROM telafi_ranges
WHERE job = :job AND (end_at = :start OR start_at = :end) ORDER BY start_at
