"""The matcher: a pattern compiled to a program, and run over the events of each key.

    cep.pattern ──► compiler ──► program ──► decision ──► machine ──► matches
                    (cursor, guards, automaton)           (runs, skip, conditions, codec)

The program is immutable, the run state is separate and can be written to bytes at any event.
"""
