SELECT DISTINCT owner FROM telafi.runs
