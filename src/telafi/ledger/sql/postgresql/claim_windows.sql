-- Rows are locked in the order of their start, so two groups cannot deadlock.
WITH asked AS (
    SELECT * FROM unnest(
        :job::text[], :start::bigint[], :end::bigint[], :claim::text[], :run::text[], :kind::text[])
        AS asked (job, start_at, end_at, claim, run, kind)
), mine AS (
    SELECT w.job, w.start_at, w.end_at FROM telafi.windows AS w
    JOIN asked USING (job, start_at, end_at)
    WHERE w.state = 'planned'
      AND NOT EXISTS (SELECT 1 FROM telafi.jobs AS j WHERE j.job = w.job AND j.paused)
    ORDER BY w.start_at FOR UPDATE OF w
)
UPDATE telafi.windows AS w
SET state = 'open', claim = asked.claim, run = asked.run, kind = asked.kind, outside = false, token = w.token + 1
FROM mine JOIN asked USING (job, start_at, end_at)
WHERE w.job = mine.job AND w.start_at = mine.start_at AND w.end_at = mine.end_at
RETURNING txid_current()
