"""The events of matches, as columns and as JSON."""
