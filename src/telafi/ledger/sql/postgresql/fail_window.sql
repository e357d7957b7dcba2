-- A row that another copy has finished meanwhile is not touched.
UPDATE telafi.windows
SET state = :state, claim = NULL, attempts = attempts + 1, reason = :reason, error = :error
WHERE job = :job AND start_at = :start AND end_at = :end
  AND (state = 'planned' OR (state = 'open' AND claim = :claim))
