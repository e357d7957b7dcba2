"""A week of real departures, counted by a job that is started late, twice, and killed in the middle."""
