SELECT version FROM telafi.versions ORDER BY version
