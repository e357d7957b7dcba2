UPDATE telafi_jobs SET watermark = :end WHERE job = :job AND watermark = :start
