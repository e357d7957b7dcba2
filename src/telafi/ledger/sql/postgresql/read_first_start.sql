SELECT MIN(start_at) FROM (
    SELECT MIN(start_at) AS start_at FROM telafi.windows WHERE job = :job
    UNION ALL
    SELECT MIN(start_at) AS start_at FROM telafi.ranges WHERE job = :job
) AS stored
