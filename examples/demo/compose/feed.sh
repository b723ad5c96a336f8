#!/bin/sh
# Creates the topics and writes the sample events to the first, unless it has been filled before.
set -eu
kafka=/opt/kafka/bin
# One partition keeps the order of the logs, so that nothing comes late.
for topic in "$KAFKA_TOPIC" "$KAFKA_MATCHES_TOPIC"; do
  "$kafka/kafka-topics.sh" --bootstrap-server "$KAFKA_BOOTSTRAP_SERVERS" \
    --create --if-not-exists --topic "$topic" --partitions 1 --replication-factor 1
done
end=$("$kafka/kafka-get-offsets.sh" --bootstrap-server "$KAFKA_BOOTSTRAP_SERVERS" --topic "$KAFKA_TOPIC")
if [ "${end##*:}" = 0 ]; then
  gzip -dc /events/events.jsonl.gz |
    "$kafka/kafka-console-producer.sh" --bootstrap-server "$KAFKA_BOOTSTRAP_SERVERS" --topic "$KAFKA_TOPIC"
fi
