"""MATCH_RECOGNIZE, the row patterns of the SQL standard: the language.

    text ──parsing──► Clause ──analysis──► BoundClause ──► cep.row_search

`Clause` is what is written, `BoundClause` what it means for rows of a schema.

Source: ISO/IEC 9075-2 feature R010 (technical report 19075-5), and `WITHIN` of Flink SQL.
"""
