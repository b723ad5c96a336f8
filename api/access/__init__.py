"""Who asks, and what that role may do."""
