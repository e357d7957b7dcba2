-- Also where a run that died at it and was charged for that still holds it open.
UPDATE telafi.windows SET state = 'parked', reason = :reason
WHERE job = :job AND start_at = :start AND end_at = :end AND (
    state = 'planned'
    OR (state = 'open' AND run IN (
        SELECT id FROM telafi.runs WHERE job = :job AND charged_start = :start AND charged_end = :end)))
