-- BEGIN IMMEDIATE holds the only write lock already.
SELECT watermark, paused, wall_at, boot_at, boot FROM telafi_jobs WHERE job = :job
