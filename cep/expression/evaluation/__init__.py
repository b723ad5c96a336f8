"""Evaluates a checked tree, over columns or over one event at a time.

`columnar` and `scalar`/`predicate` agree on every value; `aggregate` folds accepted events.
"""
