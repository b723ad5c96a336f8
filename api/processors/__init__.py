"""Processors: rules with identity, immutable versions, and publications."""
