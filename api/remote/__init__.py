"""Commands of every day against a rule service: list, show, pause, resume, rollback, matches.

    percept VERB ──► connected ──► Client ──► tables, documents, JSON Lines

They are clients of the service like any other program and may do what their token may.
"""
