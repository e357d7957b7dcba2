SELECT version FROM telafi_versions ORDER BY version
