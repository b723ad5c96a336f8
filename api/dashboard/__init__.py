"""The ops dashboard: pages served by the service itself, for people who watch and change rules."""
