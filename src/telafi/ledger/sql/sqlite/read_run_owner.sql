SELECT owner FROM telafi_runs WHERE id = :run
