"""What can be known of an expression before an event is seen: names, types, use as a key."""
