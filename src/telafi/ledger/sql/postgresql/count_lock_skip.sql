INSERT INTO telafi.lock_skips (job, skips, last_at, holder) VALUES (:job, 1, :last_at, :holder)
ON CONFLICT (job) DO UPDATE SET skips = lock_skips.skips + 1, last_at = excluded.last_at, holder = excluded.holder
