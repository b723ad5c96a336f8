"""Rows of output: from what was found to rows in columns, their ids, and lines of JSON in files."""
