INSERT INTO telafi_windows (job, start_at, end_at, state, schedule, zone, tzdata, reason, planned_at)
VALUES (:job, :start, :end, :state, :schedule, :zone, :tzdata, :reason, :planned_at)
ON CONFLICT DO NOTHING
