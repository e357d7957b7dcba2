SELECT owner FROM telafi.runs WHERE id = :run
