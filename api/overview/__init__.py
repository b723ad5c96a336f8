"""The state of everything at a glance: jobs with their last hour, rules by state, what is wrong."""
