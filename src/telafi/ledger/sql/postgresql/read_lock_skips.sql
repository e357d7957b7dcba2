SELECT skips, last_at, holder FROM telafi.lock_skips WHERE job = :job
