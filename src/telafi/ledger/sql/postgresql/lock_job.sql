SELECT watermark, paused, wall_at, boot_at, boot FROM telafi.jobs WHERE job = :job FOR UPDATE
