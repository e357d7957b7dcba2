SELECT start_at, end_at, state, kind, attempts, reason, error, new_keys, repeated_keys, effects, duration_ms, finished_at
FROM telafi_windows WHERE job = :job ORDER BY start_at DESC LIMIT :rows_max
