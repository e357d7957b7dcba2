SELECT start_at, end_at, windows FROM telafi_ranges WHERE job = :job ORDER BY start_at DESC
