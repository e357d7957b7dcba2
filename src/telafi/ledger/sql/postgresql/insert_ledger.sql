INSERT INTO telafi.ledger (id, created_at) VALUES (:ledger, :created_at)
