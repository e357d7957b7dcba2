SELECT skips, last_at, holder FROM telafi_lock_skips WHERE job = :job
