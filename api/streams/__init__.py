"""Streams: what their events look like; every condition is checked against it."""
