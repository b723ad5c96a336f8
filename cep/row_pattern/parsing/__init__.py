"""From the text of a clause to its tree: words, row patterns, expressions, clause."""
