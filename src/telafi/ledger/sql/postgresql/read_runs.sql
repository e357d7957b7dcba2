SELECT id, plan, owner FROM telafi.runs WHERE job = :job AND id <> :run AND charged_start IS NULL ORDER BY id
