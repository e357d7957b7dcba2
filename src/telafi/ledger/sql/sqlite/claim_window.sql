UPDATE telafi_windows
SET state = 'open', claim = :claim, run = :run, kind = :kind, outside = :outside, token = token + 1
WHERE job = :job AND start_at = :start AND end_at = :end AND (state = 'planned' OR (state = 'parked' AND :parked))
  AND NOT EXISTS (SELECT 1 FROM telafi_jobs WHERE job = :job AND paused)
