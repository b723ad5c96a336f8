"""Backtests that are asked for here and run by workers: the queue, turns, results."""
