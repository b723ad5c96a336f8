"""Recent matches: posted by jobs, read in pages or as a stream of new ones."""
