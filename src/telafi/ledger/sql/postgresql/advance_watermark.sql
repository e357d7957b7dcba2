UPDATE telafi.jobs SET watermark = :end WHERE job = :job AND watermark = :start
