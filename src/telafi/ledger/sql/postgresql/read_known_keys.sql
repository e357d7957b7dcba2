SELECT mark_key FROM telafi.marks WHERE scope = :scope AND mark_key = ANY(:keys::text[])
