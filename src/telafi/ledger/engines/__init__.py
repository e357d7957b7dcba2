"""The databases that a ledger can live in: connect, classify errors, capabilities."""
