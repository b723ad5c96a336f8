"""Which version of which processor is active when, in event time.

A snapshot and the newest event time make a `timeline`; `phases` cut it where what is active
changes.
"""
