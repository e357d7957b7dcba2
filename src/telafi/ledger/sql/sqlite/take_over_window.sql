UPDATE telafi_windows SET claim = :claim, run = :run, kind = :kind, token = token + 1
WHERE job = :job AND start_at = :start AND end_at = :end AND state = 'open' AND claim = :seen_claim AND token = :seen_token
