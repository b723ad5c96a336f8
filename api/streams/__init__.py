"""Streams: the definitions of their events, against which every condition is checked."""
