DELETE FROM telafi.runs
WHERE job = :job AND charged_start = :start AND charged_end = :end
