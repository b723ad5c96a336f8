"""Conditions of clauses that look back, as code over columns: what candidates are tested with.

    condition ──CodeWriter──► operations, what they read (Operands) ──code_tables──► arrays
    events ──FrameColumns──► columns ──remember──► memory of a candidate ──holds──► is it TRUE?

A candidate is a partial match of a clause (`cep.row_kernel`). What its rows were is remembered by
place: a row of an array, written from that of the candidate without its last row. One stack machine
serves all conditions, so no rule compiles anything.
"""
