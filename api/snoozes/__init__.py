"""Snoozes: what a rule finds, for one key or all, goes to nobody until an event time."""
