-- A charged window without a row has been compacted, so it was done.
DELETE FROM telafi_runs WHERE job = :job AND charged_start IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM telafi_windows AS w
    WHERE w.job = telafi_runs.job AND w.start_at = telafi_runs.charged_start AND w.end_at = telafi_runs.charged_end
      AND w.state IN ('planned', 'open', 'in-doubt'))
