"""Data passed between processes: blocks of events, their order and keys, and output rows."""
