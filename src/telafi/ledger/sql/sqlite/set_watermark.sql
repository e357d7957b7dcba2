UPDATE telafi_jobs SET watermark = :watermark WHERE job = :job
