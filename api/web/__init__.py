"""What all endpoints share of HTTP: routing, problems, paging, preconditions, limits."""
