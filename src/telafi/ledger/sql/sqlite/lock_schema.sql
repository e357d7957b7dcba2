-- BEGIN IMMEDIATE holds the only write lock already.
SELECT 1
