UPDATE telafi_runs SET charged_start = :start, charged_end = :end
WHERE id = :run AND charged_start IS NULL
