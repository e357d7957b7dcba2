-- The list comes first, so that each of its keys is one look-up in the table.
SELECT asked.value FROM json_each(:keys) AS asked
CROSS JOIN telafi_marks AS mark ON mark.scope = :scope AND mark.mark_key = asked.value
WHERE mark.parent = :parent AND mark.created_at = :created_at
