UPDATE telafi_windows SET state = 'planned', claim = NULL
WHERE job = :job AND start_at = :start AND end_at = :end AND state = 'open' AND claim = :claim
