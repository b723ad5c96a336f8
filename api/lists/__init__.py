"""Lists of a stream: created, filled, searched, rolled back, deleted; and fetched by jobs."""
