"""Percept's pattern language and matcher: what one pattern means, with neither Spark nor a service.

expression/     SQL expressions over an event and over the events accepted so far
events/         files of events as tables, JSON values as those of columns
pattern/        the pattern tree; builder, document and printed form; validation
row_pattern/    MATCH_RECOGNIZE of the SQL standard: text, tree, names and types
row_search/     the search for row patterns, and the rows it outputs
nfa/            from a tree to a program, and the machine that runs it
matching/       matchers: one pattern over a list of events, or many rules over many keys
definition/     the document of a processor, and all its checks
signing/        Python code in documents, signed
processor.py    what is done with matches
bounded_cache.py  what is computed once and kept, up to a bound
"""
