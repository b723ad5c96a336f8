"""What a shard keeps from batch to batch: headers, keys in buckets, waiting events."""
