"""Several changes of the rules of a stream, made as one: all or none, and one epoch.

body ─► checking: documents, as a publish checks them ─► making: one transaction ─► snapshot, jobs
"""
