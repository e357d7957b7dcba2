DELETE FROM telafi_runs WHERE id = :run AND charged_start IS NULL
