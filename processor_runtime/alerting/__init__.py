"""Which matches go out: of which version, and what is snoozed, suppressed, grouped, budgeted."""
