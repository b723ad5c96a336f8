"""Proposals: changes of what runs that other people approve before they are published."""
