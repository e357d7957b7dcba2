UPDATE telafi.jobs SET wall_at = :wall_at, boot_at = :boot_at, boot = :boot WHERE job = :job
