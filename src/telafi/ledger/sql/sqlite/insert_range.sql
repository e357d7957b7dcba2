INSERT INTO telafi_ranges (job, start_at, end_at, windows) VALUES (:job, :start, :end, :windows)
