"""Many processors over one stream of events: the streaming job.

rows/        blocks of events, their order and keys; rows of output
schedule/    which version of a rule is active when, in event time
rules/       versions loaded, verified, grouped by key and compiled
state/       what a shard keeps from batch to batch
stages/      fan out per key, then match: the two stages, without Spark
driver/      pins an epoch per micro-batch, records it, adds up what shards report
job_file/    what one job reads, matches with and writes to
reporting/   heartbeats and matches, to the rule service
spark/       the only place that knows pyspark; `job` is the composition root
"""
