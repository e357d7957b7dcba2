SELECT mark_key FROM telafi_marks
WHERE scope = :scope AND mark_key IN (SELECT value FROM json_each(:keys))
