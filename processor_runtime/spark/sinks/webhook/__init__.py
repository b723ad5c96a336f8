"""Output rows as signed HTTP requests."""
