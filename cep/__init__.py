"""Percept's pattern language and matcher: what one pattern means, with neither Spark nor a service.

`expression/` holds SQL expressions over an event and over the events accepted so far.
"""
