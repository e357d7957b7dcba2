SELECT state, COUNT(*) FROM telafi.windows WHERE job = :job AND state IN ('parked', 'in-doubt') GROUP BY state
