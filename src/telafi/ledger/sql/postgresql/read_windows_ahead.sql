-- Windows of a job never overlap, so only the one that starts last before the position can reach beyond it.
SELECT start_at, end_at, state, attempts FROM telafi.windows
WHERE job = :job
  AND start_at >= COALESCE(
      (SELECT MAX(start_at) FROM telafi.windows WHERE job = :job AND start_at <= :position), :position)
  AND end_at > :position
ORDER BY start_at
