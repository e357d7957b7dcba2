SELECT MAX(finished_at) FROM telafi.windows WHERE job = :job AND state = 'done'
