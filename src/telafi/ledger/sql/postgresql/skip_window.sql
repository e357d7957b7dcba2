UPDATE telafi.windows SET state = 'skipped', reason = :reason
WHERE job = :job AND start_at = :start AND end_at = :end AND state = 'planned'
