INSERT INTO telafi_versions (version, name, applied_at) VALUES (:version, :name, :applied_at)
