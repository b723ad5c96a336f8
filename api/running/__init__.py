"""Compares what is published with what jobs run."""
