SELECT MIN(start_at) FROM (
    SELECT MIN(start_at) AS start_at FROM telafi_windows WHERE job = :job
    UNION ALL
    SELECT MIN(start_at) AS start_at FROM telafi_ranges WHERE job = :job
) AS stored
