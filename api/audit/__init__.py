"""The change log: who, what, when, why; a change of what runs, or a set of them, is one epoch."""
