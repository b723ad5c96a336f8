"""Kafka without Java: Percept's own connector, over librdkafka.

    options of a job file ──settings──► librdkafka
    cluster (what is there) ──starting, offsets──► ranges of records ──reading──► Arrow
    rows of output ──producing──► topic

It knows no Spark, which reads it through `processor_runtime.spark.sources.kafka_stream`. The
library comes with the extra `kafka`, and is imported only by the modules that talk to brokers.
"""
