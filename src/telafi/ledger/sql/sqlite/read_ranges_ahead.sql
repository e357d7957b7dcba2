SELECT start_at, end_at FROM telafi_ranges
WHERE job = :job
  AND start_at >= COALESCE(
      (SELECT MAX(start_at) FROM telafi_ranges WHERE job = :job AND start_at <= :position), :position)
  AND end_at > :position
ORDER BY start_at
