"""The document of a pattern, JSON or YAML: its schema, reading and writing.

files → text (plain data with the place of every key) → reading → tree → writing
"""
