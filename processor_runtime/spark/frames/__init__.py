"""Patterns and clauses over Spark frames, without a rule service."""
