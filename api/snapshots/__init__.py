"""Snapshots: what a job reads, built from publications for any epoch, byte for byte the same."""
