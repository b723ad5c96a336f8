"""A rule on given events, traced: its matches, how far the rest came, and why it went no further.

    events of a key ─► Tracer | RowTracer ─► partial matches that ended ─► what the events lacked

What a trace costs cannot be told before it runs: whoever runs one bounds its time and memory.
"""
