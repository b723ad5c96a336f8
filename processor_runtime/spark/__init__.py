"""The streaming job on Spark: the only place that knows pyspark."""
