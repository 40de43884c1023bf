"""Many jobs: a table checked before the first one starts, done in one process or on Ray, with one table of results."""
