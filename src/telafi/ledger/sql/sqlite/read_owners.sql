SELECT DISTINCT owner FROM telafi_runs
