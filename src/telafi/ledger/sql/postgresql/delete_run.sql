DELETE FROM telafi.runs WHERE id = :run AND charged_start IS NULL
