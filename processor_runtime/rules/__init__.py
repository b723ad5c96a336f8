"""Versions of rules made ready to run: loaded, verified, grouped by key and compiled."""
