"""Compiled: texts of events and matches, joined from pieces."""
