"""What crosses process borders: blocks of events, their order and keys, and rows of output."""
