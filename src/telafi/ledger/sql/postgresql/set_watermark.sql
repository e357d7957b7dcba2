UPDATE telafi.jobs SET watermark = :watermark WHERE job = :job
