"""The change log: who changed what, when and why; each change of what runs is one epoch."""
