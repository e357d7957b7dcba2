SELECT id FROM telafi.ledger
