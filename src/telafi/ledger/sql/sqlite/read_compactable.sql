-- A row whose run is still open may be asked for again after an unknown COMMIT: it stays.
SELECT start_at, end_at FROM telafi_windows AS w
WHERE w.job = :job AND w.state = 'done' AND w.start_at < :horizon AND w.end_at <= :horizon
  AND NOT EXISTS (SELECT 1 FROM telafi_runs AS r WHERE r.id = w.run AND r.charged_start IS NULL)
ORDER BY start_at LIMIT :rows_max
