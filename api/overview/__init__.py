"""The overview: jobs with their last hour, rules by state, and problems."""
