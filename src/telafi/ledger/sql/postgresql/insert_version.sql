INSERT INTO telafi.versions (version, name, applied_at) VALUES (:version, :name, :applied_at)
