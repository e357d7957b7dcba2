DELETE FROM telafi_windows WHERE job = :job AND start_at >= :start AND end_at <= :end AND state = 'done'
