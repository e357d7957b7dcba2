SELECT version, name, applied_at FROM telafi.versions ORDER BY version
