SELECT MAX(finished_at) FROM telafi_windows WHERE job = :job AND state = 'done'
