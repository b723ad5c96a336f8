"""From text to tree: lexical rules and limits, then sqlglot, then the whitelist of nodes."""
