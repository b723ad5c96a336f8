"""Output rows in a table of a database, each once."""
