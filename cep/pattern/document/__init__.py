"""The document of a pattern, JSON or YAML: its schema, and the ways from it and to it.

files → text (plain data with the place of every key) → reading → tree → writing
"""
