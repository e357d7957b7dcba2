SELECT effects FROM telafi.windows
WHERE job = :job AND state = 'done' ORDER BY start_at DESC LIMIT :rows_max
