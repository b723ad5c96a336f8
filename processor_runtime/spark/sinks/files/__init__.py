"""Output rows in files, one directory per batch, or in a Delta table."""
