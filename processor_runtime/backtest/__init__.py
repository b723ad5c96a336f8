"""Backtests: what rules would have found in history, by the stages of a job and without Spark."""
