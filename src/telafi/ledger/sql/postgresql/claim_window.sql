-- The transaction's id comes back: the advance asks for it, so a COMMIT in a user's code cannot split the unit.
UPDATE telafi.windows
SET state = 'open', claim = :claim, run = :run, kind = :kind, outside = :outside, token = token + 1
WHERE job = :job AND start_at = :start AND end_at = :end AND (state = 'planned' OR (state = 'parked' AND :parked::boolean))
  AND NOT EXISTS (SELECT 1 FROM telafi.jobs WHERE job = :job AND paused)
RETURNING txid_current()
