SELECT state, COUNT(*) FROM telafi_windows WHERE job = :job AND state IN ('parked', 'in-doubt') GROUP BY state
