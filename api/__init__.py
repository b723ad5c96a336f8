"""The rule service."""
