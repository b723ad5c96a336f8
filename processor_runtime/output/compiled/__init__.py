"""Compiled: the texts of rows: events as JSON and lines of matches, joined from pieces.

Used once `cep.compiling.is_ready` says so; until then rows are made one by one.
"""
