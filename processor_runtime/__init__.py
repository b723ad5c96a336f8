"""Many processors over one stream of events."""
