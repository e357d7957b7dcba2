UPDATE telafi.windows AS w SET state = 'planned', claim = NULL
FROM unnest(:job::text[], :start::bigint[], :end::bigint[], :claim::text[]) AS asked (job, start_at, end_at, claim)
WHERE w.job = asked.job AND w.start_at = asked.start_at AND w.end_at = asked.end_at
  AND w.state = 'open' AND w.claim = asked.claim
