SELECT id FROM telafi_ledger
