"""What the driver does around each micro-batch: pin an epoch, record it, sum what shards report.

Nothing here runs in a worker.
"""
