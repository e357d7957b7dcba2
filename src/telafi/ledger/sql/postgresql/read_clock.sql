-- Not now(): that is the instant at which the transaction began.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
