"""Partial matches of many keys moved by compiled code: a machine over columns of events.

    Machine ──tables──► arrays · bytes of keys ──states_of──► arrays ──walk──► matches, new bytes

It does what `cep.nfa.machine` does, event by event and window by window, for the machines whose
conditions the event alone decides; that module is the reference, and takes over where this one
gives up.
"""
