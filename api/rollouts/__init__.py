"""Rollouts: a version is tried beside what is published, compared, and promoted or ended."""
