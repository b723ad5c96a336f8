"""MATCH_RECOGNIZE by brute force, written from the README of the vectors and from nothing else.

    text ──reading──► Clause ──matching──► rows of the result
                                  │
                           evaluation of conditions and measures

It shares no code with the search that it checks. Every candidate is tried, in order of preferment,
by recursion over the pattern; it takes exponential time and holds nothing back.
"""
