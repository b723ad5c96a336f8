"""The definition of a processor: the document people write, and what is checked of it."""
