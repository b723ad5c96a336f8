"""The two stages of the job: events fan out per key, then the matcher of each shard runs.

key_stage → (shuffle by shard) → shard_matcher → group_matcher → match_rows
"""
