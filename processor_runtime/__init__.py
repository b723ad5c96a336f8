"""Many processors over one stream of events: the streaming job will live here."""
