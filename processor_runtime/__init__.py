"""The streaming job: many processors over one stream of events.

rows/        blocks of events, their order and keys; rows of output
schedule/    which version of a rule is active when, in event time
kafka/       topics, without Spark: positions, records, settings
watch/       whose Python code is at work in a process, for how long, with how much memory
rules/       loads and verifies versions, groups them by key and compiles them
state/       what a shard keeps from batch to batch
stages/      the two stages, fan-out by key and matching, without Spark
driver/      pins an epoch per micro-batch, records it, sums up the reports of shards
job_file/    what one job reads, matches with and writes to
reporting/   heartbeats and matches, to the rule service
spark/       the only place that knows pyspark; `job` is the composition root
"""
