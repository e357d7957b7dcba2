UPDATE telafi.windows AS w
SET state = 'done', reason = NULL, error = NULL, new_keys = asked.new, repeated_keys = asked.repeated,
    effects = asked.effects, duration_ms = asked.milliseconds, finished_at = asked.finished_at
FROM unnest(
    :job::text[], :start::bigint[], :end::bigint[], :claim::text[], :transaction::bigint[], :new::bigint[],
    :repeated::bigint[], :effects::bigint[], :milliseconds::bigint[], :finished_at::bigint[])
    AS asked (job, start_at, end_at, claim, transaction, new, repeated, effects, milliseconds, finished_at)
WHERE w.job = asked.job AND w.start_at = asked.start_at AND w.end_at = asked.end_at
  AND w.state = 'open' AND w.claim = asked.claim AND asked.transaction = txid_current()
