-- Ends with the transaction, so it works behind a pooler and a killed upgrade leaves no lock.
SELECT pg_advisory_xact_lock(hashtext('telafi:schema'))
