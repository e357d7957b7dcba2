SELECT mark_key FROM telafi.marks
WHERE scope = :scope AND mark_key = ANY(:keys::text[]) AND parent = :parent AND created_at = :created_at
