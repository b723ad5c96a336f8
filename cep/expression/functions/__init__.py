"""The functions and operators of the language: one table, with their types and both evaluations.

`table` is where a function is added; the other modules hold what its entries refer to.
"""
