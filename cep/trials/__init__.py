"""A rule on given events, traced: its matches, how far the rest came, and why it went no further.

    events of a key ─► Tracer | RowTracer ─► partial matches that ended ─► what the events lacked

The cost of a trace is not known before it runs: the caller bounds its time and memory.
"""
