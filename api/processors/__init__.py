"""Processors: rules with identity, immutable versions, and what is published of them."""
