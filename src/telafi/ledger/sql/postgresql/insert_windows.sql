INSERT INTO telafi.windows (job, start_at, end_at, state, schedule, zone, tzdata, reason, planned_at)
SELECT * FROM unnest(
    :job::text[], :start::bigint[], :end::bigint[], :state::text[], :schedule::text[], :zone::text[], :tzdata::text[],
    :reason::text[], :planned_at::bigint[])
ON CONFLICT DO NOTHING
