DELETE FROM telafi_ranges WHERE job = :job AND start_at = :start
