-- A server needs no preparation.
SELECT 1
