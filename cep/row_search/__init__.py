"""The search for row patterns: incremental, and the same for lists, frames and streams.

    BoundClause ──► automaton: states ──► search over the rows of a Partition ──► MatchedRows
    MatchedRows ──output──► rows of the result

Rows can be given one by one, and a partition be kept as bytes between two of them.

Source: ISO/IEC 19075-5, chapter 7; Pike's simulation of a backtracking matcher.
"""
