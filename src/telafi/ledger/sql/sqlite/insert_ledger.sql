INSERT INTO telafi_ledger (id, created_at) VALUES (:ledger, :created_at)
