SELECT version, name, applied_at FROM telafi_versions ORDER BY version
