DELETE FROM telafi.windows WHERE job = :job AND start_at >= :start AND end_at <= :end AND state = 'done'
