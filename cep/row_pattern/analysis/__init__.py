"""From the tree of a clause to what it means for rows of a schema: names, places, types."""
