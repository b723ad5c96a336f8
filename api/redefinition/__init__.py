"""Changes the definition of a stream, if the running rules still fit it."""
