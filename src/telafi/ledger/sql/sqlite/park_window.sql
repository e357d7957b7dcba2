UPDATE telafi_windows SET state = 'parked', reason = :reason
WHERE job = :job AND start_at = :start AND end_at = :end AND state = 'planned'
