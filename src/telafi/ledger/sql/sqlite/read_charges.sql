SELECT charged_start, charged_end, COUNT(*) FROM telafi_runs
WHERE job = :job AND charged_start IS NOT NULL GROUP BY charged_start, charged_end
