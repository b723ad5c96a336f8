"""Snoozes as they are stored: what ends with a rule, too, lies below rules."""
