"""What records hold: JSON, Avro and Protobuf, their schemas, read and written."""
