"""Matchers: one pattern over a list of events, or many rules over many keys.

find_matches     one pattern over a list or a stream of events
batch            many rules, fed from Polars frames; `predicate_index` evaluates their tests
keyed            many rules over many keys: the matcher that others feed
shapes           rules of one shape, which share a machine and their partial matches
matcher_state    the state of a whole matcher as bytes; `key_state`: that of one key
"""
