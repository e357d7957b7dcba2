UPDATE telafi_windows
SET state = 'done', reason = NULL, error = NULL, new_keys = :new, repeated_keys = :repeated, effects = :effects,
    duration_ms = :milliseconds, finished_at = :finished_at
WHERE job = :job AND start_at = :start AND end_at = :end AND state = 'open' AND claim = :claim
