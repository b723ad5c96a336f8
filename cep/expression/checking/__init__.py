"""Static checks of an expression: names, types, use as a key."""
