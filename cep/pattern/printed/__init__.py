"""The printed form of a pattern, a chain of builder calls: written, and read without evaluation."""
