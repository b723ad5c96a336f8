"""Clauses over whole columns: the search as compiled code over arrays, for rows that are all there.

    BoundClause ──plan──► KernelPlan ──(numba)──► search: matches of many partitions in one call
    frame ──columns──► arrays ─────────────────────┘

What a plan does not take (decimals, CLASSIFIER in DEFINE, `$` ...) is left to `cep.row_search`,
which defines what is right; so is a partition on which the compiled search gives up.
"""
