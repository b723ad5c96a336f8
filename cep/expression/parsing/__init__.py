"""From text to tree: the lexical rules and limits, then sqlglot, then only what is listed."""
