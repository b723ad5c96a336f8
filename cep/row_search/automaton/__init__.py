"""A row pattern as instructions, and the states that a search walks along them."""
