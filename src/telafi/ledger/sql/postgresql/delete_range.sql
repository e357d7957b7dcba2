DELETE FROM telafi.ranges WHERE job = :job AND start_at = :start
