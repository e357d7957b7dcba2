INSERT INTO telafi_runs (id, job, plan, owner, opened_at) VALUES (:run, :job, :plan, :owner, :opened_at) ON CONFLICT DO NOTHING
