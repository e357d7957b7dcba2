-- A charged window without a row has been compacted, so it was done.
DELETE FROM telafi.runs AS r WHERE r.job = :job AND r.charged_start IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM telafi.windows AS w
    WHERE w.job = r.job AND w.start_at = r.charged_start AND w.end_at = r.charged_end
      AND w.state IN ('planned', 'open', 'in-doubt'))
