UPDATE telafi.windows SET state = 'in-doubt', reason = :reason
WHERE job = :job AND start_at = :start AND end_at = :end
  AND (state = 'planned' OR (state = 'open' AND claim = :claim))
